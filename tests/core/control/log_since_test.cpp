#include "launch/core/control/log_since.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::log_since_test {
namespace {

// A host whose local time is UTC; it is half past two on 1 March 2026.
LocalClock clock_at_half_past_two() {
  const auto seconds_of = [](const CivilTime& time) {
    // Days of the civil calendar since 1970 (H. Hinnant).
    const int year = time.year - (time.month <= 2 ? 1 : 0);
    const int of_era = year % 400;
    const int of_year = (153 * (time.month + (time.month > 2 ? -3 : 9)) + 2) / 5 + time.day - 1;
    const int days = year / 400 * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
    const int minutes = time.hour * 60 + time.minute - time.zone_minutes.value_or(0);
    return std::vector<double>{days * 86'400.0 + minutes * 60.0 + time.second};
  };
  const CivilTime now{2026, 3, 1, 14, 30, 0, {}};
  return {seconds_of(now)[0], now, seconds_of};
}

double age(const std::string& word) {
  const auto since = parse_since(word);
  if (!since) return -1;
  const auto seconds = age_of(*since, clock_at_half_past_two());
  return seconds ? *seconds : -2;
}

TEST(LogSince, IsADurationOrAMoment) {
  for (const auto& [word, seconds] : std::vector<std::pair<std::string, double>>{{"90", 90},
                                                                                 {"90s", 90},
                                                                                 {"1.5s", 1.5},
                                                                                 {"10m", 600},
                                                                                 {"10min", 600},
                                                                                 {"2h", 7200},
                                                                                 {"1d", 86'400},
                                                                                 {"1h30m", 5400},
                                                                                 {"0", 0},
                                                                                 {"14:05", 1500},
                                                                                 {"14:05:30", 1470},
                                                                                 {"14:05:30.250", 1470},
                                                                                 {"14:30", 0},
                                                                                 {"2026-03-01T14:05", 1500},
                                                                                 {"2026-03-01 14:05:30", 1470},
                                                                                 {"2026-03-01", 52'200},
                                                                                 {"2026-02-28T14:30", 86'400},
                                                                                 {"2026-03-01T14:05Z", 1500},
                                                                                 {"2026-03-01T15:05+01:00", 1500},
                                                                                 {"2026-03-01T15:05+01", 1500},
                                                                                 {"2026-03-01T11:35-0230", 1500}})
    EXPECT_EQ(seconds, age(word)) << word;
}

TEST(LogSince, ATimeThatIsStillToComeTodayWasYesterday) {
  EXPECT_EQ(86'400 - 1800, age("15:00"));
  EXPECT_EQ(14.5 * 3600, age("00:00"));
}

// Half past two comes twice that day, an hour apart.
TEST(LogSince, OfAnHourThatComesTwiceTheLastOneBeforeNowCounts) {
  LocalClock clock = clock_at_half_past_two();
  const double noon = clock.now - 2.5 * 3600;
  clock.seconds_of = [noon](const CivilTime& time) {
    const double midnight = noon - 43'200 + (time.day - 1) * 86'400.0;
    const double at = midnight + time.hour * 3600 + time.minute * 60;
    return time.hour == 2 ? std::vector<double>{at, at + 3600} : std::vector<double>{at};
  };
  for (const auto& [minutes_after_two, age] : std::vector<std::pair<int, double>>{{40, 600}, {85, 3300}, {95, 300}}) {
    clock.now = noon - 36'000 + minutes_after_two * 60;
    for (const char* word : {"02:30", "2026-03-01T02:30"}) {
      const auto seconds = age_of(*parse_since(word), clock);
      ASSERT_TRUE(seconds);
      EXPECT_EQ(age, *seconds) << word << " " << minutes_after_two;
    }
  }
}

TEST(LogSince, AMomentToComeIsAnError) {
  for (const char* word : {"2026-03-01T14:31", "2026-03-01T14:30-01:00", "2027-01-01"})
    EXPECT_EQ(-2, age(word)) << word;
}

TEST(LogSince, SaysWhatWouldBeRight) {
  for (const char* word : {"",
                           " ",
                           "x",
                           "-5",
                           "5x",
                           "5 s",
                           "m",
                           "1..5s",
                           "inf",
                           "nan",
                           "1e3",
                           "99999999999d",
                           "24:00",
                           "14:5",
                           "14:60",
                           "1:05",
                           "14:05:61",
                           "14:05Z",
                           "14:05x",
                           "2026-02-29",
                           "2026-13-01",
                           "2026-00-01",
                           "2026-03-01T",
                           "2026-3-1",
                           "2026-03-01T14",
                           "2026-03-01T14:05+1",
                           "2026-03-01T14:05+25:00",
                           "1969-12-31",
                           "yesterday"}) {
    const auto since = parse_since(word);
    ASSERT_FALSE(since) << word;
    EXPECT_EQ(ErrorCode::usage, since.error().code);
    EXPECT_THAT(since.error().message, testing::HasSubstr("90s, 10m or 2h"));
  }
}

}  // namespace
}  // namespace launch::log_since_test

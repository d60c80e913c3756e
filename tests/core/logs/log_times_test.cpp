#include "launch/core/logs/log_times.hpp"

#include <gtest/gtest.h>

namespace launch::log_times_test {
namespace {

using namespace std::chrono_literals;

constexpr Time start = Time(1000s);

TEST(LogTimes, KnowsWhereWhatWasWrittenSinceBegins) {
  LogTimes times;
  EXPECT_EQ(std::nullopt, times.begin_of(start));
  times.wrote(0, start);
  times.wrote(100, start + 400ms);
  times.wrote(200, start + 10s);
  times.wrote(300, start + 600s);
  for (const auto& [since, position] : std::vector<std::pair<Duration, std::uint64_t>>{
           {-5s, 0}, {0s, 0}, {400ms, 0}, {401ms, 200}, {10s, 200}, {11s, 300}, {600s, 300}})
    EXPECT_EQ(position, times.begin_of(start + since)) << since.count();
  EXPECT_EQ(std::nullopt, times.begin_of(start + 601s));
}

TEST(LogTimes, WhatIsWrittenAllTheTimeHasAPartEachSecond) {
  LogTimes times;
  for (int i = 0; i < 100; ++i) times.wrote(static_cast<std::uint64_t>(i), start + i * 100ms);
  EXPECT_EQ(10U, times.size());
  EXPECT_EQ(90U, times.begin_of(start + 9500ms));
}

TEST(LogTimes, AFileThatIsCutGoesOnFromThere) {
  LogTimes times;
  times.wrote(0, start);
  times.wrote(100, start + 2s);
  times.wrote(200, start + 4s);
  times.cut(100);
  EXPECT_EQ(std::nullopt, times.begin_of(start + 2s));
  times.wrote(100, start + 9s);
  EXPECT_EQ(100U, times.begin_of(start + 5s));
  times.clear();
  EXPECT_EQ(std::nullopt, times.begin_of(start));
}

TEST(LogTimes, KnowsWhetherAnOlderFileHasSomeOfIt) {
  LogTimes times;
  times.clear();
  EXPECT_FALSE(times.is_in_older_file(start));
  times.wrote(0, start);
  times.wrote(100, start + 4s);
  EXPECT_FALSE(times.is_in_older_file(start));
  times.clear();
  times.clear();
  EXPECT_TRUE(times.is_in_older_file(start + 4s));
  EXPECT_FALSE(times.is_in_older_file(start + 5s));
}

// Three days, a line each second: what is given too much is little beside the age.
TEST(LogTimes, StaysSmallAndNeverBeginsTooLate) {
  constexpr std::uint64_t seconds = 3 * 86'400;
  LogTimes times;
  for (std::uint64_t second = 0; second < seconds; ++second) times.wrote(second, start + second * 1s);
  EXPECT_LE(times.size(), LogTimes::most_parts);
  for (const std::uint64_t age : {1UL, 60UL, 1'000UL, 5'000UL, 36'000UL, 200'000UL, 259'200UL}) {
    const auto begin = times.begin_of(start + (seconds - age) * 1s);
    ASSERT_TRUE(begin);
    EXPECT_LE(*begin, seconds - age);
    EXPECT_LE(seconds - age - *begin, age / 64 + 1) << age;
  }
}

}  // namespace
}  // namespace launch::log_times_test

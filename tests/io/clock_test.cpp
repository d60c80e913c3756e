#include "launch/io/clock.hpp"

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::clock_test {

TEST(Clock, GoesForward) {
  const Time first = now();
  EXPECT_GE(now(), first);
}

TEST(Clock, NeverStaysNeverForTimers) {
  EXPECT_EQ(to_steady(never), std::chrono::steady_clock::time_point::max());
  EXPECT_EQ(to_steady(Time(Duration(5))).time_since_epoch(), std::chrono::nanoseconds(5));
}

TEST(Clock, UnixTimeIsThatOfTheSystem) {
  const auto before = std::time(nullptr);
  const double between = unix_time();
  EXPECT_GE(between, static_cast<double>(before) - 1);  // time() may lag behind by a tick
  EXPECT_LE(between, static_cast<double>(std::time(nullptr)) + 2);
}

class LocalTime : public testing::Test {
 protected:
  LocalTime() { set("CET-1CEST,M3.5.0,M10.5.0/3"); }
  ~LocalTime() override { set(before_ ? before_->c_str() : nullptr); }
  LocalTime(const LocalTime&) = delete;
  LocalTime& operator=(const LocalTime&) = delete;

  static void set(const char* zone) {
    if (zone != nullptr) ::setenv("TZ", zone, 1);
    if (zone == nullptr) ::unsetenv("TZ");
    ::tzset();
  }
  const std::optional<std::string> before_ =
      std::getenv("TZ") != nullptr ? std::optional<std::string>(std::getenv("TZ")) : std::nullopt;
};

TEST_F(LocalTime, MayComeTwice) {
  using Times = std::vector<double>;
  constexpr double end_of_summer = 1'792'890'000;  // 2026-10-25T01:00Z
  EXPECT_EQ((Times{end_of_summer - 1800, end_of_summer + 1800}), unix_times_of({2026, 10, 25, 2, 30, 0, {}}));
  EXPECT_EQ(Times{end_of_summer + 1800}, unix_times_of({2026, 10, 25, 2, 30, 0, 60}));
  EXPECT_EQ(Times{end_of_summer - 5400}, unix_times_of({2026, 10, 25, 1, 30, 0, {}}));
  EXPECT_EQ(Times{end_of_summer + 5400}, unix_times_of({2026, 10, 25, 3, 30, 0, {}}));
  EXPECT_EQ(1U, unix_times_of({2026, 3, 29, 2, 30, 0, {}}).size());  // which is left out
  EXPECT_EQ(unix_times_of({2026, 10, 31, 2, 30, 0, {}}), unix_times_of({2026, 11, 0, 2, 30, 0, {}}));
}

TEST(Clock, WallTimeIsDateAndTime) {
  EXPECT_THAT(wall_time_text(), testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"));
}

}  // namespace launch::clock_test

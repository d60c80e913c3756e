#include "launch/io/clock.hpp"

#include <ctime>

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

TEST(Clock, WallTimeIsDateAndTime) {
  EXPECT_THAT(wall_time_text(), testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"));
}

}  // namespace launch::clock_test

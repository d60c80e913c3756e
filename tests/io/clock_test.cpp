#include "launch/io/clock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch {
namespace {

TEST(Clock, GoesForward) {
  const Time first = now();
  EXPECT_GE(now(), first);
}

TEST(Clock, NeverStaysNeverForTimers) {
  EXPECT_EQ(to_steady(never), std::chrono::steady_clock::time_point::max());
  EXPECT_EQ(to_steady(Time(Duration(5))).time_since_epoch(), std::chrono::nanoseconds(5));
}

TEST(Clock, WallTimeIsDateAndTime) {
  EXPECT_THAT(wall_time_text(), testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"));
}

}  // namespace
}  // namespace launch

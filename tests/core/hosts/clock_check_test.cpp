#include "launch/core/hosts/clock_check.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace launch::clock_check_test {

using namespace std::chrono_literals;
using enum CheckLevel;
using Rows = std::vector<CheckRow>;

WallTime at(std::chrono::microseconds time) { return WallTime(1'790'000'000s + time); }

// The way there takes 4 ms, the answer 3 s, the way back 2 ms.
ClockOffset offset_of(std::chrono::microseconds skew) {
  return measure_clock(1, {at(0s), at(3006ms), at(4ms + skew), at(3004ms + skew)});
}

TEST(ClockCheck, IsMeasuredAsByNtp) {
  EXPECT_EQ(offset_of(0s).ahead, 1ms) << "the ways are not equally long";
  EXPECT_EQ(offset_of(0s).uncertainty, 3ms);
  EXPECT_EQ(offset_of(30s).ahead, 30'001ms);
  EXPECT_EQ(offset_of(-30s).ahead, -29'999ms);
  EXPECT_EQ(measure_clock(0, {at(0s), at(1s), at(0s), at(5s)}).uncertainty, 0s) << "its clock was set meanwhile";
}

TEST(ClockCheck, NoTimeIsTooStrange) {
  const WallTime last(std::chrono::microseconds(std::int64_t{1} << 53));
  for (const WallTime strange : {WallTime(), last}) {
    const auto clock = measure_clock(0, {at(0s), at(1ms), strange, strange});
    EXPECT_EQ(check_clocks({clock, {1, 0ms, 1ms}}).front().level, warning);
  }
}

TEST(ClockCheck, OneThatIsWrongAmongOthers) {
  EXPECT_EQ(check_clocks({{0, 2ms, 1ms}, {1, 30s, 1ms}, {2, -400ms, 1ms}, {3, -90s, 1ms}}),
            (Rows{{0, "clock", ok, "within 100 ms of the others"},
                  {1, "clock", warning, "its clock is 30 s ahead of those of the others (is NTP running?)"},
                  {2, "clock", ok, "within 1 s of the others"},
                  {3, "clock", warning, "its clock is 90 s behind those of the others (is NTP running?)"}}));
}

TEST(ClockCheck, TheOneHereMayBeTheWrongOne) {
  EXPECT_EQ(check_clocks({{0, 60s, 1ms}, {1, 60s, 1ms}}),
            (Rows{{0, "clock", ok, "within 100 ms of the others"},
                  {1, "clock", ok, "within 100 ms of the others"},
                  {-1, "clock", warning, "its clock is 60 s behind those of the others (is NTP running?)"}}));
  EXPECT_EQ(check_clocks({{0, 60s, 1ms}}).front().level, warning) << "of two, this one is right";
}

TEST(ClockCheck, WhatIsUncertainIsNoFault) {
  EXPECT_EQ(check_clocks({{0, 0s, 1ms}, {1, 3s, 4s}}).back(), (CheckRow{1, "clock", ok, "within 7 s of the others"}));
  EXPECT_TRUE(check_clocks({}).empty());
}

}  // namespace launch::clock_check_test

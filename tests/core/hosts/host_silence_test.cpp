#include "launch/core/hosts/host_silence.hpp"

#include <chrono>
#include <limits>

#include <gtest/gtest.h>

namespace launch::host_silence_test {

using namespace std::chrono_literals;

TEST(HostSilence, IsThatOfNodesWithinBounds) {
  EXPECT_EQ(host_silence(30), 15s);
  EXPECT_EQ(host_silence(15), 15s);
  EXPECT_EQ(host_silence(2.5), 2500ms);
  EXPECT_EQ(host_silence(0.5), 1s);
}

TEST(HostSilence, WhatNodesDoNotKnowOrWillRefuseIsNoMatter) {
  using Limits = std::numeric_limits<double>;
  for (const double seconds : {0.0, -1.0, -Limits::infinity(), Limits::infinity(), Limits::quiet_NaN(), 1e300})
    EXPECT_EQ(host_silence(seconds), 15s) << seconds;
}

TEST(HostSilence, TwoBeatsMayBeLost) {
  EXPECT_EQ(between_host_beats(15s), 5s);
  EXPECT_EQ(between_host_beats(3s), 1s);
  EXPECT_EQ(between_host_beats(60s), 5s);
}

TEST(HostSilence, WhoeverHasSleptLooksOnceMore) {
  const Time due{1h};
  EXPECT_EQ(end_of_silence(due, due + 3s, false), due);
  EXPECT_EQ(end_of_silence(due, due + 3s, true), due + 3250ms);
}

TEST(HostSilence, ALittleLateIsNoSleep) {
  const Time due{1h};
  EXPECT_FALSE(has_slept(due, due - 1h, 4s));
  EXPECT_FALSE(has_slept(due, due + 1s - 1ns, 4s));
  EXPECT_TRUE(has_slept(due, due + 1s, 4s));
  EXPECT_FALSE(has_slept(never, due, 4s));
}

}  // namespace launch::host_silence_test

#include "launch/core/agent/signal_volley.hpp"

#include <csignal>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace launch::signal_volley_test {

using namespace std::chrono_literals;

constexpr Time start{1h};

// How many signals were meant by arrivals of SIGINT at these times.
int meant(const std::vector<std::pair<SignalWay, Duration>>& arrivals) {
  SignalVolley volley;
  int count = 0;
  for (const auto& [way, after] : arrivals) count += volley.is_new(SIGINT, way, later(start, after)) ? 1 : 0;
  return count;
}

TEST(SignalVolley, AKeyThatAWrapperHandsOnIsOneSignal) {
  EXPECT_EQ(meant({{SignalWay::terminal, 0s}, {SignalWay::guard, 300ms}}), 1);
  EXPECT_EQ(meant({{SignalWay::guard, 0s}, {SignalWay::terminal, 1ms}}), 1);
}

TEST(SignalVolley, ASignalToEveryProcessIsOneSignal) {
  EXPECT_EQ(meant({{SignalWay::direct, 0s}, {SignalWay::guard, 1ms}}), 1);
  EXPECT_EQ(meant({{SignalWay::terminal, 0s}, {SignalWay::guard, 1ms}, {SignalWay::direct, 2ms}}), 1);
}

TEST(SignalVolley, WhatComesTwiceOneWayIsTwoSignals) {
  EXPECT_EQ(meant({{SignalWay::terminal, 0s}, {SignalWay::terminal, 1ms}}), 2);
  EXPECT_EQ(meant({{SignalWay::guard, 0s}, {SignalWay::guard, 1ms}, {SignalWay::guard, 2ms}}), 3);
  EXPECT_EQ(meant({{SignalWay::terminal, 0s},
                   {SignalWay::guard, 10ms},
                   {SignalWay::terminal, 500ms},
                   {SignalWay::guard, 510ms}}),
            2);
}

TEST(SignalVolley, WhatComesLaterIsAnotherSignal) {
  EXPECT_EQ(meant({{SignalWay::terminal, 0s}, {SignalWay::guard, 1001ms}}), 2);
}

TEST(SignalVolley, EachSignalIsCountedByItself) {
  SignalVolley volley;
  EXPECT_TRUE(volley.is_new(SIGINT, SignalWay::terminal, start));
  EXPECT_TRUE(volley.is_new(SIGTERM, SignalWay::guard, start));
}

}  // namespace launch::signal_volley_test

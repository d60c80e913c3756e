#include "launch/core/base/backoff.hpp"

#include <gtest/gtest.h>

namespace launch::backoff_test {

using namespace std::chrono_literals;

TEST(Backoff, GrowsToItsLimitWithJitter) {
  Random random(7);
  Backoff backoff(10ms, 1s, random);
  Duration nominal = 10ms;
  for (int i = 0; i < 50; ++i) {
    const Duration delay = backoff.next();
    EXPECT_GE(delay, nominal / 2);
    EXPECT_LT(delay, nominal * 3 / 2);
    nominal = std::min<Duration>(nominal * 2, 1s);
  }
}

TEST(Backoff, TwoNodesDoNotKnockInStep) {
  Random a(1), b(2);
  Backoff first(10ms, 1s, a), second(10ms, 1s, b);
  int equal = 0;
  for (int i = 0; i < 20; ++i) equal += first.next() == second.next() ? 1 : 0;
  EXPECT_LT(equal, 2);
}

}  // namespace launch::backoff_test

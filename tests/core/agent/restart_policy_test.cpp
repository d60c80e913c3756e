#include "launch/core/agent/restart_policy.hpp"

#include <gtest/gtest.h>

namespace launch::restart_policy_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);

Failure failure_with(int code, std::string detail = "") {
  Failure failure;
  failure.exit_code = code;
  failure.detail = std::move(detail);
  return failure;
}

RestartRules rules(int max) {
  RestartRules result;
  result.max_restarts = max;
  return result;
}

bool goes_on(RestartPolicy& policy, const Failure& failure, int restarts = 0, Duration lived = 60s,
             Time now = start_time) {
  return !policy.refuses(failure, restarts, lived, now);
}

TEST(RestartPolicy, CountsTheRestartsOfTheJob) {
  RestartPolicy policy(rules(2));
  EXPECT_TRUE(goes_on(policy, failure_with(1), 0));
  EXPECT_TRUE(goes_on(policy, failure_with(1), 1));
  EXPECT_EQ(policy.refuses(failure_with(1), 2, 60s, start_time), "limit reached (--max-restarts=2)");
}

TEST(RestartPolicy, OnlyARestartCountsNotAFailureThatTheJobDidNotRestartAfter) {
  RestartRules within = rules(1);
  within.window = 1h;
  RestartPolicy policy(within);
  EXPECT_TRUE(goes_on(policy, failure_with(1), 0));
  EXPECT_TRUE(goes_on(policy, failure_with(1), 0));
  EXPECT_EQ(RestartPolicy(rules(3)).restarted(2, start_time), "restart 2 of 3");
}

TEST(RestartPolicy, WithoutRestartsThereIsNothingToExplain) {
  RestartPolicy policy(rules(0));
  EXPECT_EQ(policy.refuses(failure_with(1), 0, 60s, start_time), "");
}

TEST(RestartPolicy, CountsOnlyThoseWithinTheWindow) {
  RestartRules within = rules(1);
  within.window = 1h;
  RestartPolicy policy(within);
  EXPECT_TRUE(goes_on(policy, failure_with(1), 4, 60s, start_time));
  EXPECT_EQ(policy.restarted(5, start_time), "restart 5 (1 of 1 within 60 min)");
  EXPECT_EQ(policy.refuses(failure_with(1), 5, 60s, start_time + 30min),
            "limit reached (--max-restarts=1 within 60 min)");
  EXPECT_TRUE(goes_on(policy, failure_with(1), 5, 60s, start_time + 61min));
  EXPECT_EQ(policy.restarted(6, start_time + 61min), "restart 6 (1 of 1 within 60 min)");
}

TEST(RestartPolicy, GoesByHowTheWorkerEnded) {
  RestartRules some = rules(9);
  some.restart_on = {{3, 137}, true};
  some.fail_on = {{137}, false};
  RestartPolicy policy(some);
  EXPECT_TRUE(goes_on(policy, failure_with(3)));
  EXPECT_FALSE(goes_on(policy, failure_with(4)));
  EXPECT_FALSE(goes_on(policy, failure_with(137)));
  Failure not_started = failure_with(127);
  not_started.kind = Failure::Kind::start;
  EXPECT_TRUE(goes_on(policy, not_started));
  some.fail_on = {{1}, false};
  RestartPolicy other(some);
  EXPECT_TRUE(goes_on(other, failure_of_hang("no progress for 20 s"))) << "no worker has ended";
}

TEST(RestartPolicy, TheSameExceptionThreeTimesIsEnoughUnlessItGotFurther) {
  RestartPolicy policy(rules(19));
  EXPECT_TRUE(goes_on(policy, failure_with(1, "ValueError: x"), 0, 10s));
  EXPECT_TRUE(goes_on(policy, failure_with(1, "ValueError: x"), 1, 10s));
  EXPECT_TRUE(goes_on(policy, failure_with(1, "ValueError: x"), 2, 60s)) << "it got further";
  EXPECT_TRUE(goes_on(policy, failure_with(1, "ValueError: x"), 3, 60s));
  EXPECT_TRUE(goes_on(policy, failure_with(1, "ValueError: y"), 4, 60s)) << "it is another one";
  EXPECT_TRUE(goes_on(policy, failure_with(1), 5, 60s));
  EXPECT_TRUE(goes_on(policy, failure_with(1), 6, 60s));
  EXPECT_TRUE(goes_on(policy, failure_with(1), 7, 60s)) << "nothing is known of it";
  EXPECT_TRUE(goes_on(policy, failure_with(1, "ValueError: x"), 8, 60s));
  EXPECT_TRUE(goes_on(policy, failure_with(1, "ValueError: x"), 9, 60s));
  EXPECT_FALSE(goes_on(policy, failure_with(1, "ValueError: x"), 10, 60s));
}

TEST(RestartPolicy, WhatAWorkerSawOfOthersMayGetBetter) {
  for (const char* error : {"RuntimeError: Connection closed by peer [10.0.0.7]:5868", "BrokenPipeError: Broken pipe",
                            "DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
                            "DistBackendError: NCCL error: remote process exited or there was a network error"}) {
    RestartPolicy policy(rules(9));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(goes_on(policy, failure_with(1, error), i, 1s)) << error;
  }
}

TEST(RestartPolicy, GoesOnWithRepeatedErrorsWhenAsked) {
  RestartRules stubborn = rules(9);
  stubborn.repeat_errors = true;
  RestartPolicy policy(stubborn);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(goes_on(policy, failure_with(1, "ValueError: x"), i, 1s));
}

TEST(RestartPolicy, MembersChangeAnyNumberOfTimesUnlessThereIsALimit) {
  RestartPolicy unlimited(rules(0));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(unlimited.refuses_change());
  EXPECT_TRUE(unlimited.admits_change());
  RestartRules two = rules(0);
  two.max_membership_restarts = 2;
  RestartPolicy policy(two);
  EXPECT_FALSE(policy.refuses_change());
  EXPECT_TRUE(policy.admits_change());
  EXPECT_FALSE(policy.refuses_change());
  EXPECT_FALSE(policy.admits_change());
  EXPECT_EQ(policy.refuses_change(),
            "nodes have joined or left 3 times, and --max-membership-restarts allows no more than 2");
}

TEST(RestartPolicy, ALimitOfZeroAllowsNoChange) {
  RestartRules none = rules(9);
  none.max_membership_restarts = 0;
  RestartPolicy policy(none);
  EXPECT_FALSE(policy.admits_change());
  EXPECT_EQ(policy.refuses_change(),
            "nodes have joined or left 1 time, and --max-membership-restarts allows no more than 0");
  EXPECT_TRUE(goes_on(policy, failure_with(1))) << "failures are counted apart";
}

TEST(RestartPolicy, PausesGrowWhereWorkersFailAtOnce) {
  RestartPolicy policy(rules(9));
  EXPECT_EQ(policy.pause(1s), Duration::zero());
  EXPECT_EQ(policy.pause(1s), 100ms);
  EXPECT_EQ(policy.pause(1s), 200ms);
  EXPECT_EQ(policy.pause(1h), Duration::zero());
  Duration last{};
  for (int i = 0; i < 40; ++i) last = policy.pause(1s);
  EXPECT_EQ(last, 10s);
}

}  // namespace launch::restart_policy_test

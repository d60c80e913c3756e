#include "launch/core/rendezvous/heartbeat.hpp"

#include <gtest/gtest.h>

namespace launch::heartbeat_test {

using namespace std::chrono_literals;

TEST(Heartbeat, ANodeGivesUpBeforeItsHostDoes) {
  for (const Duration timeout : {Duration(1s), Duration(5s), Duration(1min)})
    for (const int nodes : {2, 100, 1000, 10'000}) {
      const Heartbeat plan = plan_heartbeat(timeout, nodes);
      // The last answered beat, an interval later one without an answer, then the workers' time.
      EXPECT_LT(plan.interval + plan.patience + plan.grace, plan.silence);
    }
}

// The host may have heard of it an interval before.
TEST(Heartbeat, TheWorkersOfAnAgentThatStandsStillEndBeforeTheHostLosesTheirNode) {
  for (const Duration timeout : {Duration(1s), Duration(5s), Duration(1min)})
    for (const int nodes : {2, 100, 1000, 10'000}) {
      const Heartbeat plan = plan_heartbeat(timeout, nodes);
      EXPECT_LT(longest_stall(timeout, nodes) + plan.interval, plan.silence);
      EXPECT_GT(longest_stall(timeout, nodes), plan.patience) << "what disturbs nobody else is no reason";
    }
  EXPECT_EQ(longest_stall(Duration::zero(), 2), Duration::zero());
}

TEST(Heartbeat, ANapOfNearlyTheTimeoutDisturbsNobody) {
  for (const Duration timeout : {Duration(1s), Duration(5s), Duration(30s)})
    for (const int nodes : {2, 1000, 10'000}) {
      const Heartbeat plan = plan_heartbeat(timeout, nodes);
      const Duration nap = timeout * 88 / 100;
      EXPECT_GT(plan.patience, nap) << "of the host";
      EXPECT_GT(plan.silence, plan.interval + nap) << "of a node, which began just before a beat";
    }
}

TEST(Heartbeat, ManyNodesLeaveTheHostTimeForItsWork) {
  for (const int nodes : {1000, 4000, 10'000}) {
    const Heartbeat plan = plan_heartbeat(5s, nodes);
    EXPECT_LE(nodes / std::chrono::duration<double>(plan.interval).count(), 1600) << "beats a second";
    EXPECT_GT(plan.silence, plan.interval + 3s);
  }
}

TEST(Heartbeat, WithoutATimeoutThereIsNone) {
  const Heartbeat plan = plan_heartbeat(Duration::zero(), 100);
  EXPECT_EQ(plan.interval, Duration::zero());
  EXPECT_EQ(plan.silence, Duration::zero());
}

}  // namespace launch::heartbeat_test

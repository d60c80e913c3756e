#include "launch/core/c10d/elastic_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::elastic_state_test {

using testing::ElementsAre;

NodeDesc ours(const std::string& addr, int pid = 1) { return {addr, pid, launch_local_id}; }
NodeDesc theirs(const std::string& addr, int pid = 1) { return {addr, pid, 0}; }

ElasticState state_of(const std::vector<NodeDesc>& nodes) {
  ElasticState state;
  for (const NodeDesc& node : nodes) {
    state.participants[node] = 0;
    state.last_heartbeats[node] = WallTime();
  }
  return state;
}

TEST(ElasticState, RanksAmongLaunchNodesFollowTheNumbersInTheirNames) {
  EXPECT_THAT(rank_order(state_of({ours("n10"), ours("n2"), ours("n1", 7), ours("n1", 3)}), {}),
              ElementsAre(ours("n1", 3), ours("n1", 7), ours("n2"), ours("n10")));
}

TEST(ElasticState, RanksStayWhatTheyWere) {
  EXPECT_THAT(rank_order(state_of({ours("n1"), ours("n2"), ours("n3")}), {{ours("n3"), 0}, {ours("n2"), 1}}),
              ElementsAre(ours("n3"), ours("n2"), ours("n1")));
}

TEST(ElasticState, WithATorchrunNodeNewcomersAreSortedAsTorchrunDoes) {
  const ElasticState state = state_of({ours("n10"), theirs("n2"), ours("n1")});
  EXPECT_THAT(rank_order(state, {}), ElementsAre(ours("n1"), ours("n10"), theirs("n2")));
  EXPECT_THAT(rank_order(state, {{ours("n10"), 0}}), ElementsAre(ours("n10"), ours("n1"), theirs("n2")));
}

TEST(ElasticState, CompletingDealsOutRanksAndEndsTheLastCall) {
  ElasticState state = state_of({ours("a"), ours("b")});
  state.deadline = WallTime();
  complete_round(state, {ours("b"), ours("a")});
  EXPECT_TRUE(state.complete);
  EXPECT_FALSE(state.deadline);
  EXPECT_EQ(state.participants[ours("b")], 0);
  EXPECT_EQ(state.participants[ours("a")], 1);
}

TEST(ElasticState, TheLastOneToLeaveACompleteRoundBeginsTheNext) {
  ElasticState state = state_of({ours("a"), ours("b")});
  complete_round(state, {ours("a"), ours("b")});
  remove_node(state, ours("a"), {2, 2});
  EXPECT_TRUE(state.complete);
  EXPECT_EQ(state.round, 0);
  remove_node(state, ours("b"), {2, 2});
  EXPECT_FALSE(state.complete);
  EXPECT_EQ(state.round, 1);
  EXPECT_TRUE(state.last_heartbeats.empty());
}

TEST(ElasticState, BelowTheMinimumTheLastCallIsTakenBack) {
  ElasticState state = state_of({ours("a"), ours("b"), ours("c")});
  state.deadline = WallTime();
  remove_node(state, ours("c"), {2, 4});
  EXPECT_TRUE(state.deadline);
  remove_node(state, ours("b"), {2, 4});
  EXPECT_FALSE(state.deadline);
}

TEST(ElasticState, WhoWaitsOrStandsByIsForgottenWithoutConsequence) {
  ElasticState state = state_of({ours("a")});
  complete_round(state, {ours("a")});
  state.wait_list = {ours("b")};
  state.redundancy_list = {ours("c")};
  remove_node(state, ours("b"), {1, 1});
  remove_node(state, ours("c"), {1, 1});
  EXPECT_TRUE(state.wait_list.empty() && state.redundancy_list.empty() && state.complete);
}

TEST(ElasticState, NodesAreNamedForPeople) { EXPECT_EQ(to_text(ours("n1", 42)), "n1 (pid 42)"); }

}  // namespace launch::elastic_state_test

#include "launch/core/c10d/torchrun_agents.hpp"

#include <gtest/gtest.h>

namespace launch::torchrun_agents_test {

using namespace std::chrono_literals;

constexpr Time start = Time(1h);
const NodeDesc node{"n1", 10, 0};
const NodeDesc other{"n2", 20, 0};

ElasticState with_heartbeat(int seconds) {
  ElasticState state;
  state.last_heartbeats[node] = WallTime(std::chrono::seconds(seconds));
  return state;
}

TEST(TorchrunAgents, WhoseHeartbeatIsNewHasWrittenIt) {
  TorchrunAgents agents;
  agents.learn({4, {}, with_heartbeat(1)}, node, start);
  EXPECT_TRUE(agents.is_writer(4, node));
  EXPECT_FALSE(agents.is_writer(4, other));
  EXPECT_FALSE(agents.is_writer(5, node));
  agents.learn({5, with_heartbeat(1), with_heartbeat(1)}, node, start);
  EXPECT_FALSE(agents.is_writer(5, node)) << "another one has written";
  EXPECT_EQ(agents.drop(4), node);
  EXPECT_EQ(agents.drop(4), std::nullopt);
}

TEST(TorchrunAgents, WhoWritesNothingIsSilentOnce) {
  TorchrunAgents agents;
  agents.learn({4, {}, with_heartbeat(1)}, node, start);
  agents.learn({4, with_heartbeat(1), with_heartbeat(1)}, node, start + 9s);
  EXPECT_EQ(agents.deadline(10s), start + 10s);
  EXPECT_TRUE(agents.take_silent(start + 9s, 10s).empty());
  agents.learn({4, with_heartbeat(1), with_heartbeat(2)}, node, start + 9s);
  EXPECT_EQ(agents.deadline(10s), start + 19s);
  EXPECT_EQ(agents.take_silent(start + 19s, 10s), std::vector<NodeDesc>{node});
  EXPECT_TRUE(agents.take_silent(start + 19s, 10s).empty());
  EXPECT_EQ(agents.deadline(10s), never);
}

TEST(TorchrunAgents, WhoIsNoLongerInTheStateIsForgotten) {
  TorchrunAgents agents;
  agents.learn({4, {}, with_heartbeat(1)}, node, start);
  agents.look_at(with_heartbeat(1));
  EXPECT_NE(agents.deadline(10s), never);
  agents.look_at({});
  EXPECT_EQ(agents.deadline(10s), never);
}

TEST(TorchrunAgents, WhoLeavesToComeBackIsDueForAWhile) {
  TorchrunAgents agents;
  ElasticState forming;
  forming.wait_list = {node, other, NodeDesc{"n3", 30, launch_local_id}};
  EXPECT_EQ(agents.due(forming), 2);
  agents.leaves(node, start + 15s);
  EXPECT_EQ(agents.due(forming), 2) << "the same node";
  EXPECT_EQ(agents.due({}), 1);
  EXPECT_EQ(agents.deadline(10s), start + 15s);
  (void)agents.take_silent(start + 15s, 10s);
  EXPECT_EQ(agents.due({}), 0) << "it is dead";
  agents.leaves(node, start + 30s);
  forming.participants = {{node, 0}};
  agents.look_at(forming);
  EXPECT_EQ(agents.due({}), 0) << "it has come";
}

TEST(TorchrunAgents, OnlyWhatAnAgentWouldWriteMayFollow) {
  ElasticState forming;
  forming.participants = {{node, 0}};
  ElasticState formed = forming;
  formed.complete = true;
  ElasticState grown = formed;
  grown.participants.emplace(other, 1);
  ElasticState nobody;
  nobody.complete = true;
  EXPECT_TRUE(may_follow(forming, formed));
  EXPECT_TRUE(may_follow(grown, formed)) << "one has left";
  EXPECT_TRUE(may_follow(formed, {})) << "the last one has left";
  EXPECT_FALSE(may_follow(formed, grown));
  EXPECT_FALSE(may_follow({}, nobody));
  EXPECT_FALSE(may_follow(formed, nobody));
  ElasticState jumped = formed;
  jumped.round = 5;
  EXPECT_FALSE(may_follow(formed, jumped));
}

}  // namespace launch::torchrun_agents_test

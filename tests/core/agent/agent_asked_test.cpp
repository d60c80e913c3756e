// What a user may ask of an agent: that the job restarts, and that this node leaves it.
#include "launch/core/agent/agent.hpp"

#include "agent_actions.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace launch::agent_asked_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);
constexpr ExitStatus ended{ExitStatus::Kind::signalled, SIGTERM};

struct Kind {
  int nnodes = 3;
  bool leaves = true;
  bool may_leave = true;
  bool can_restart = true;
  int restarts = 2;
  std::optional<int> most_changes{};
};

Agent agent_of(const Kind& kind) {
  AgentSettings settings = settings_of_three();
  settings.nnodes = kind.nnodes;
  settings.leaves = kind.leaves;
  settings.restarts.max_membership_restarts = kind.most_changes;
  Agent agent(settings);
  agent.start(start_time);
  return agent;
}

RendezvousDone formed(const Kind& kind) {
  Round round = round_of_three();
  round.assignment.group_world_size = kind.nnodes;
  round.restarts = kind.restarts;
  round.can_restart = kind.can_restart;
  round.may_leave = kind.may_leave;
  return {round};
}

Agent running(const Kind& kind = {}) {
  Agent agent = agent_of(kind);
  agent.on(formed(kind), start_time);
  return agent;
}

AgentActions end_workers(Agent& agent) {
  for (const int rank : {0, 1}) agent.on(WorkerExited{LocalRank(rank), ended, {}}, start_time);
  return agent.on(AllGone{}, start_time);
}

TEST(AgentAsked, ARestartNeedsNoneAndCountsAsNone) {
  Agent agent = running();
  EXPECT_EQ(agent.refuses_restart(), std::nullopt);
  const auto actions = agent.on(RestartAsked{"launch-ctl (pid 7)"}, start_time);
  ASSERT_NE(find<TellPeers>(actions), nullptr);
  const Failure told = find<TellPeers>(actions)->failure;
  EXPECT_TRUE(told.restart);
  EXPECT_EQ(told.restarts, 2);
  EXPECT_EQ(find<GatherEvidence>(actions), nullptr);
  ASSERT_NE(find<SignalWorkers>(actions), nullptr);
  const auto anew = end_workers(agent);
  ASSERT_NE(find<AnnounceRound>(anew), nullptr);
  EXPECT_EQ(find<AnnounceRound>(anew)->restart, 0);
  EXPECT_TRUE(find<AnnounceRound>(anew)->asked);
  EXPECT_EQ(find<AnnounceRound>(anew)->reason, "node 1 (host h): a restart was asked for by launch-ctl (pid 7)");
  EXPECT_EQ(find<StartRendezvous>(anew)->restarts, 2);

  Agent other = running();
  EXPECT_NE(find<SignalWorkers>(other.on(PeerFailed{told}, start_time)), nullptr);
  const auto follows = end_workers(other);
  ASSERT_NE(find<AnnounceRound>(follows), nullptr);
  EXPECT_EQ(find<AnnounceRound>(follows)->restart, 0);
  EXPECT_TRUE(find<AnnounceRound>(follows)->asked);
  EXPECT_EQ(find<StartRendezvous>(follows)->restarts, 2);
}

TEST(AgentAsked, ARestartIsRefusedWhereItMeansNothing) {
  Agent joining = agent_of({});
  EXPECT_EQ(joining.refuses_restart(), "this node is joining");
  EXPECT_TRUE(joining.on(RestartAsked{"x"}, start_time).empty());
  Agent mixed = running({.can_restart = false});
  EXPECT_EQ(mixed.refuses_restart(), "a torchrun node cannot restart with the others");
  EXPECT_TRUE(mixed.on(RestartAsked{"x"}, start_time).empty());
  Agent stopping = running();
  stopping.on(SignalReceived{SIGTERM}, start_time);
  EXPECT_EQ(stopping.refuses_restart(), "this node is stopping");
}

TEST(AgentAsked, ADrainedNodeLeavesAndEndsWell) {
  Agent agent = running();
  EXPECT_EQ(agent.refuses_leave(), std::nullopt);
  const auto actions = agent.on(LeaveAsked{"launch-ctl (pid 7)"}, start_time);
  ASSERT_NE(find<TellPeers>(actions), nullptr);
  EXPECT_EQ(find<TellPeers>(actions)->failure.kind, Failure::Kind::signal);
  EXPECT_NE(find<SignalWorkers>(actions), nullptr);
  const auto end = end_workers(agent);
  ASSERT_NE(find<Finish>(end), nullptr);
  EXPECT_EQ(find<Finish>(end)->exit_code, 0);
  EXPECT_EQ(find<Finish>(end)->first, std::nullopt);
}

TEST(AgentAsked, ANodeThatIsAboutToRestartMayStillLeave) {
  Agent agent = running();
  agent.on(MembersChanged{"n4 joins"}, start_time);
  const auto actions = agent.on(LeaveAsked{"x"}, start_time);
  ASSERT_NE(find<TellPeers>(actions), nullptr);
  const auto end = end_workers(agent);
  ASSERT_NE(find<Finish>(end), nullptr);
  EXPECT_EQ(find<Finish>(end)->exit_code, 0);
}

// Its leave was granted while its workers ran, and another node was faster.
TEST(AgentAsked, ANodeThatHasGivenUpItsRoundMeanwhileLeavesAllTheSame) {
  Agent joining = running();
  joining.on(MembersChanged{"n4 leaves"}, start_time);
  EXPECT_NE(find<StartRendezvous>(end_workers(joining)), nullptr);
  const auto actions = joining.on(LeaveAsked{"x"}, start_time);
  ASSERT_NE(find<TellPeers>(actions), nullptr);
  EXPECT_EQ(find<TellPeers>(actions)->failure.exit_code, 0);
  Agent host = running({.may_leave = false});
  host.on(MembersChanged{"n4 leaves"}, start_time);
  end_workers(host);
  EXPECT_TRUE(host.on(LeaveAsked{"x"}, start_time).empty());
}

TEST(AgentAsked, ANodeThatTheOthersNeedStays) {
  Agent fixed = running({.leaves = false, .may_leave = false});
  EXPECT_EQ(fixed.refuses_leave(), "the others cannot go on without a node: that needs c10d and --nnodes=MIN:MAX");
  EXPECT_TRUE(fixed.on(LeaveAsked{"x"}, start_time).empty());
  Agent host = running({.may_leave = false});
  EXPECT_EQ(host.refuses_leave(), "this node hosts the job's store, which the others need");
  EXPECT_TRUE(host.on(LeaveAsked{"x"}, start_time).empty());
  EXPECT_EQ(agent_of({}).refuses_leave(), "this node is joining");
}

TEST(AgentAsked, ANodeStaysIfOneMoreChangeWouldEndTheJob) {
  Agent agent = running({.most_changes = 1});
  EXPECT_EQ(agent.refuses_leave(), std::nullopt);
  agent.on(MembersChanged{"n4 joins"}, start_time);
  EXPECT_EQ(agent.refuses_leave(), std::nullopt) << "it leaves in the change that is under way";
  end_workers(agent);
  agent.on(formed({}), start_time);
  EXPECT_EQ(agent.refuses_leave(), "--max-membership-restarts is used up: the job would end");
  EXPECT_TRUE(agent.on(LeaveAsked{"x"}, start_time).empty());
}

}  // namespace launch::agent_asked_test

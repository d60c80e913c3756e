// What nodes that come and go mean to an agent: how often workers start anew for them, and how this node leaves.
#include "launch/core/agent/agent.hpp"

#include "agent_actions.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace launch::agent_membership_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);
constexpr const char* too_often =
    "nodes have joined or left 2 times, and --max-membership-restarts allows no more than 1";

AgentSettings settings(std::optional<int> most = std::nullopt) {
  AgentSettings result = settings_of_three();
  result.restarts.max_membership_restarts = most;
  return result;
}

void form(Agent& agent) {
  EXPECT_NE(find<StartWorkers>(agent.on(RendezvousDone{round_of_three()}, start_time)), nullptr);
}

Agent running(const AgentSettings& chosen) {
  Agent agent(chosen);
  agent.start(start_time);
  form(agent);
  return agent;
}

Failure lost_node() {
  Failure failure;
  failure.kind = Failure::Kind::lost;
  failure.restart = true;
  failure.node_rank = NodeRank(2);
  failure.host = "n2";
  failure.what = "its launch process died without a report";
  return failure;
}

const AgentEvent changes[] = {MembersChanged{"n4 joins"}, MembersChanged{"n2 stopped responding"},
                              PeerFailed{lost_node()}};

// The others are told, and it ends well.
void expect_leave(const AgentActions& actions) {
  EXPECT_EQ(find<EnterBarrier>(actions), nullptr);
  ASSERT_NE(find<TellPeers>(actions), nullptr);
  EXPECT_EQ(find<TellPeers>(actions)->failure.kind, Failure::Kind::signal);
  ASSERT_NE(find<Finish>(actions), nullptr);
  EXPECT_EQ(find<Finish>(actions)->exit_code, 0);
}

// Whether the next round admits nodes without ending the job.
bool start_anew(Agent& agent, const AgentEvent& change) {
  EXPECT_NE(find<SignalWorkers>(agent.on(change, start_time)), nullptr);
  const auto anew = agent.on(AllGone{}, start_time);
  EXPECT_NE(find<StartRendezvous>(anew), nullptr);
  form(agent);
  return find<StartRendezvous>(anew)->admits;
}

constexpr ExitStatus killed{ExitStatus::Kind::signalled, SIGKILL};

TEST(AgentMembership, ANodeThatStoodStillTooLongJoinsAgain) {
  AgentSettings elastic = settings();
  elastic.leaves = true;
  Agent agent = running(elastic);
  EXPECT_EQ(find<TellPeers>(agent.on(StoodStill{9s}, start_time)), nullptr);
  for (const int rank : {0, 1}) agent.on(WorkerExited{LocalRank(rank), killed, {}}, start_time);
  const auto anew = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<AnnounceRound>(anew)->restart, 0);
  EXPECT_NE(find<StartRendezvous>(anew), nullptr);
}

TEST(AgentMembership, ItIsTheFailureOfAJobThatCannotGoOnWithoutIt) {
  Agent agent = running(settings());
  const auto actions = agent.on(StoodStill{9s}, start_time);
  const Failure& told = find<TellPeers>(actions)->failure;
  EXPECT_EQ(told.kind, Failure::Kind::lost);
  EXPECT_EQ(told.what, "its launch process was frozen for 9 s, so its guard ended the workers");
  for (const int rank : {0, 1}) agent.on(WorkerExited{LocalRank(rank), killed, {}}, start_time);
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 1);
}

TEST(AgentMembership, ChangesAnyNumberOfTimesWithoutALimit) {
  Agent agent = running(settings());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(start_anew(agent, changes[i % 3]));
}

TEST(AgentMembership, OnceTooOftenEndsTheJobEverywhere) {
  for (const AgentEvent& change : changes) {
    EXPECT_TRUE(find<StartRendezvous>(Agent(settings(1)).start(start_time))->admits);
    Agent agent = running(settings(1));
    EXPECT_FALSE(start_anew(agent, change));
    const auto actions = agent.on(change, start_time);
    EXPECT_EQ(order(actions), "TEs");
    EXPECT_EQ(find<SignalWorkers>(actions)->signal, SIGTERM);
    const Failure& told = find<TellPeers>(actions)->failure;
    EXPECT_EQ(told.kind, Failure::Kind::lost);
    EXPECT_FALSE(told.restart);
    EXPECT_EQ(told.why_final, too_often);
    EXPECT_EQ(find<SignalWorkers>(actions)->reason, describe(told));
    EXPECT_TRUE(agent.on(change, start_time).empty());
    const auto end = agent.on(AllGone{}, start_time);
    ASSERT_NE(find<Finish>(end), nullptr);
    EXPECT_EQ(find<Finish>(end)->exit_code, 1);
    EXPECT_EQ(find<Finish>(end)->first, told);
  }
}

TEST(AgentMembership, TheEndNamesTheLostNodeWhereItIsKnown) {
  Agent agent = running(settings(0));
  Failure expected = lost_node();
  expected.restart = false;
  const auto lost = agent.on(PeerFailed{lost_node()}, start_time);
  expected.why_final = find<TellPeers>(lost)->failure.why_final;
  EXPECT_EQ(find<TellPeers>(lost)->failure, expected);
  EXPECT_EQ(find<SignalWorkers>(lost)->reason, "node 2 (host n2): its launch process died without a report");

  Agent other = running(settings(0));
  EXPECT_EQ(find<SignalWorkers>(other.on(MembersChanged{"n4 joins"}, start_time))->reason, "n4 joins");
}

// Several agents tell at once: the one that the store saw first is the verdict of all.
TEST(AgentMembership, TheEndIsWhatTheStoreSawFirst) {
  Agent agent = running(settings(0));
  agent.on(MembersChanged{"n2 has left"}, start_time);
  Failure first = lost_node();
  EXPECT_TRUE(agent.on(PeerFailed{first}, start_time).empty()) << "why the round broke up undoes no end";
  first.restart = false;
  first.why_final = "others counted too";
  EXPECT_TRUE(agent.on(PeerFailed{first}, start_time).empty());
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->first, first);
}

TEST(AgentMembership, AChangeWithoutRunningWorkersCostsNothing) {
  Agent agent(settings(0));
  agent.start(start_time);
  for (const AgentEvent& change : changes) EXPECT_NE(find<StartRendezvous>(agent.on(change, start_time)), nullptr);
  form(agent);
  for (const int rank : {0, 1}) agent.on(WorkerExited{LocalRank(rank), ExitStatus{}, {}}, start_time);
  EXPECT_NE(find<EnterBarrier>(agent.on(AllGone{}, start_time)), nullptr);
  EXPECT_NE(find<StartRendezvous>(agent.on(PeerFailed{lost_node()}, start_time)), nullptr);
}

TEST(AgentMembership, OneChangeThatIsToldInManyWaysCountsOnce) {
  Agent agent = running(settings(1));
  EXPECT_FALSE(agent.on(PeerFailed{lost_node()}, start_time).empty());
  for (const AgentEvent& change : changes) EXPECT_TRUE(agent.on(change, start_time).empty());
  EXPECT_NE(find<StartRendezvous>(agent.on(AllGone{}, start_time)), nullptr);
}

TEST(AgentMembership, ARestartAfterAFailureIsNone) {
  AgentSettings chosen = settings(0);
  chosen.restarts.max_restarts = 1;
  Agent agent = running(chosen);
  Failure failure;
  failure.node_rank = NodeRank(1);
  agent.on(WorkerExited{LocalRank(0), ExitStatus{ExitStatus::Kind::exited, 7}, failure}, start_time);
  EXPECT_TRUE(agent.on(MembersChanged{"n2 restarts"}, start_time).empty());
  EXPECT_NE(find<StartRendezvous>(agent.on(AllGone{}, start_time)), nullptr);
}

TEST(AgentMembership, WhoLeavesTellsTheOthersBeforeItsOwnWorkers) {
  AgentSettings chosen = settings();
  const AgentEvent told = SignalReceived{SIGTERM};
  EXPECT_EQ(order(running(chosen).on(told, start_time)), "Ts");
  chosen.leaves = true;
  EXPECT_EQ(order(running(chosen).on(told, start_time)), "Ts");
  chosen.stacks = true;
  EXPECT_EQ(order(running(chosen).on(told, start_time)), "TSs");
  chosen.shutdown_timeout = 0s;
  EXPECT_EQ(order(running(chosen).on(told, start_time)), "TSk");
}

TEST(AgentMembership, WhatIsNoPlannedLeaveIsToldFirstTooButForSigkill) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  EXPECT_EQ(
      order(running(chosen).on(WorkerExited{LocalRank(0), ExitStatus{ExitStatus::Kind::exited, 7}, {}}, start_time)),
      "TEs");
  EXPECT_EQ(order(running(chosen).on(GuardLost{}, start_time)), "sT") << "SIGKILL waits for no news";
  chosen.nnodes = 1;
  EXPECT_EQ(order(running(chosen).on(SignalReceived{SIGTERM}, start_time)), "s");
}

TEST(AgentMembership, AWarnedNodeWhoseWorkersEndLeavesTheOthers) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  Agent agent = running(chosen);
  EXPECT_TRUE(agent.on(Warned{SIGUSR1, true}, start_time).empty());
  for (const int rank : {0, 1}) agent.on(WorkerExited{LocalRank(rank), ExitStatus{}, {}}, start_time);
  expect_leave(agent.on(AllGone{}, start_time));
}

TEST(AgentMembership, AWarnedNodeWhoseWorkerFailsLeavesWithItsCode) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  Agent agent = running(chosen);
  agent.on(Warned{SIGUSR1, true}, start_time);
  Failure failure;
  failure.exit_code = 138;
  failure.what = "signal 10 (SIGUSR1)";
  const auto actions =
      agent.on(WorkerExited{LocalRank(0), ExitStatus{ExitStatus::Kind::signalled, SIGUSR1}, failure}, start_time);
  ASSERT_NE(find<TellPeers>(actions), nullptr);
  EXPECT_EQ(find<TellPeers>(actions)->failure.kind, Failure::Kind::signal);
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 138);
}

TEST(AgentMembership, AWarningChangesNothingWhereTheJobNeedsEveryNode) {
  Agent agent = running(settings());
  agent.on(Warned{SIGUSR1, false}, start_time);
  for (const int rank : {0, 1}) agent.on(WorkerExited{LocalRank(rank), ExitStatus{}, {}}, start_time);
  EXPECT_NE(find<EnterBarrier>(agent.on(AllGone{}, start_time)), nullptr);
}

TEST(AgentMembership, WorkersThatWereWarnedHaveTimeToSaveThoughOthersLeave) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  Agent agent = running(chosen);
  agent.on(Warned{SIGUSR1, false}, start_time);
  EXPECT_TRUE(agent.on(MembersChanged{"n2 leaves"}, start_time).empty());
  EXPECT_EQ(agent.deadline(), start_time + chosen.shutdown_timeout);
  for (const int rank : {0, 1}) agent.on(WorkerExited{LocalRank(rank), ExitStatus{}, {}}, start_time);
  const AgentActions actions = agent.on(AllGone{}, start_time);
  ASSERT_NE(find<Finish>(actions), nullptr) << "the others do not come to a barrier";
  EXPECT_EQ(find<Finish>(actions)->exit_code, 0);
}

TEST(AgentMembership, WorkersThatWereWarnedSaveForAsLongAsTheLossOfTheHostLeavesThem) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  for (const bool other_first : {false, true}) {
    Agent agent = running(chosen);
    agent.on(Warned{SIGUSR1, true}, start_time);
    if (other_first) agent.on(MembersChanged{"n2 leaves"}, start_time);
    EXPECT_TRUE(agent.on(MembersChanged{"n0 is gone", 250ms, true}, start_time).empty());
    EXPECT_EQ(agent.deadline(), start_time + 225ms) << "and have a little time to exit";
  }
}

TEST(AgentMembership, WorkersThatHeedNoWarningStartAnewInTheEnd) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  Agent agent = running(chosen);
  agent.on(Warned{SIGUSR1, true}, start_time);
  agent.on(MembersChanged{"n2 leaves"}, start_time);
  EXPECT_NE(find<SignalWorkers>(agent.on(DeadlineReached{}, start_time + chosen.shutdown_timeout)), nullptr);
  EXPECT_NE(find<StartRendezvous>(agent.on(AllGone{}, start_time)), nullptr);
}

TEST(AgentMembership, AChangeThatWasPutOffIsCountedLikeOthers) {
  AgentSettings chosen = settings(0);
  chosen.leaves = true;
  Agent agent = running(chosen);
  agent.on(Warned{SIGUSR1, true}, start_time);
  agent.on(MembersChanged{"n2 leaves"}, start_time);
  const AgentActions actions = agent.on(DeadlineReached{}, start_time + chosen.shutdown_timeout);
  ASSERT_NE(find<TellPeers>(actions), nullptr);
  EXPECT_FALSE(find<TellPeers>(actions)->failure.why_final.empty());
}

TEST(AgentMembership, AWarningWhileWorkersAreStoppedMakesTheNodeLeave) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  Agent agent = running(chosen);
  agent.on(MembersChanged{"n4 joins"}, start_time);
  agent.on(Warned{SIGUSR1, true}, start_time);
  expect_leave(agent.on(AllGone{}, start_time));
}

TEST(AgentMembership, AWarningBetweenRoundsIsNotOneOfTheNext) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  Agent agent = running(chosen);
  agent.on(MembersChanged{"n4 joins"}, start_time);
  agent.on(AllGone{}, start_time);
  agent.on(Warned{SIGUSR1, true}, start_time);
  form(agent);
  EXPECT_NE(find<SignalWorkers>(agent.on(MembersChanged{"n5 joins"}, start_time)), nullptr);
}

TEST(AgentMembership, WhoWasTakenForDeadStopsItsWorkersThoughTheyWereWarned) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  for (const bool other_first : {false, true}) {
    Agent agent = running(chosen);
    agent.on(Warned{SIGUSR1, true}, start_time);
    if (other_first) agent.on(MembersChanged{"n2 leaves"}, start_time);
    EXPECT_NE(find<SignalWorkers>(agent.on(MembersChanged{"taken for dead", 250ms}, start_time)), nullptr);
    EXPECT_EQ(agent.deadline(), start_time + 250ms);
  }
}

TEST(AgentMembership, AWarnedNodeWhoseProcessesOutliveSigkillDoesNotEndWell) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  Agent agent = running(chosen);
  agent.on(Warned{SIGUSR1, true}, start_time);
  agent.on(MembersChanged{"taken for dead", 250ms}, start_time);
  EXPECT_NE(find<KillWorkers>(agent.on(DeadlineReached{}, agent.deadline())), nullptr);
  const AgentActions actions = agent.on(DeadlineReached{}, agent.deadline());
  ASSERT_NE(find<Finish>(actions), nullptr);
  EXPECT_TRUE(find<Finish>(actions)->left_behind);
  EXPECT_TRUE(find<Finish>(actions)->first);
}

TEST(AgentMembership, WhoWasTakenForDeadHasNoTimeLeftForWorkersThatAreStopping) {
  Agent agent = running(settings());
  agent.on(MembersChanged{"n4 joins"}, start_time);
  EXPECT_EQ(agent.deadline(), start_time + 30s);
  agent.on(MembersChanged{"taken for dead", 250ms}, start_time);
  EXPECT_EQ(agent.deadline(), start_time + 250ms);
  agent.on(AllGone{}, start_time);
  form(agent);
  agent.on(MembersChanged{"n5 joins"}, start_time);
  EXPECT_EQ(agent.deadline(), start_time + 30s) << "the next round has all its time";
}

TEST(AgentMembership, ARefusalEndsAlsoANodeThatRuns) {
  Agent agent = running(settings());
  const Error refused{ErrorCode::conflict, "another launch calls itself h"};
  EXPECT_NE(find<SignalWorkers>(agent.on(RendezvousFailed{refused}, start_time)), nullptr);
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->first->what, refused.message);
}

TEST(AgentMembership, WhoIsInTheBarrierAfterAWarningLeavesWhenTheOthersDo) {
  AgentSettings chosen = settings();
  chosen.leaves = true;
  Agent agent = running(chosen);
  agent.on(Warned{SIGUSR1, false}, start_time);
  for (const int rank : {0, 1}) agent.on(WorkerExited{LocalRank(rank), ExitStatus{}, {}}, start_time);
  EXPECT_NE(find<EnterBarrier>(agent.on(AllGone{}, start_time)), nullptr);
  EXPECT_NE(find<Finish>(agent.on(MembersChanged{"n2 leaves"}, start_time)), nullptr);
}

}  // namespace launch::agent_membership_test

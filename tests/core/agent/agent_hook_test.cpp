#include "launch/core/agent/agent.hpp"

#include "agent_actions.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace launch::agent_hook_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);
constexpr ExitStatus ok{ExitStatus::Kind::exited, 0};
constexpr ExitStatus terminated{ExitStatus::Kind::signalled, SIGTERM};

AgentSettings with_hook() {
  return {.nnodes = 1,
          .nproc = 1,
          .host = "h",
          .shutdown_timeout = 30s,
          .kill_grace = 5s,
          .after_hook = true,
          .hook_timeout = 60s};
}

Agent running(const AgentSettings& settings) {
  Agent agent(settings);
  agent.start(start_time);
  Round round;
  round.assignment = {.group_world_size = settings.nnodes, .world_size = 1};
  EXPECT_NE(find<StartWorkers>(agent.on(RendezvousDone{round}, start_time)), nullptr);
  return agent;
}

// The worker has ended well, and the hook runs.
Agent in_hook(const AgentSettings& settings) {
  Agent agent = running(settings);
  agent.on(WorkerExited{LocalRank(0), ok, {}}, start_time);
  EXPECT_NE(find<RunAfterHook>(agent.on(AllGone{}, start_time)), nullptr);
  return agent;
}

TEST(AgentHook, RunsOnceTheWorkersAreGoneAndTheJobEndsAfterIt) {
  Agent agent = running(with_hook());
  agent.on(WorkerExited{LocalRank(0), ok, {}}, start_time);
  const auto actions = agent.on(AllGone{}, start_time);
  ASSERT_NE(find<RunAfterHook>(actions), nullptr);
  EXPECT_EQ(find<RunAfterHook>(actions)->exit_code, 0);
  EXPECT_EQ(find<Finish>(actions), nullptr);
  EXPECT_EQ(agent.deadline(), start_time + 65s);
  EXPECT_TRUE(agent.on(AllGone{}, start_time).empty()) << "said of the workers, late";
  EXPECT_TRUE(agent.on(HookEnded{}, start_time).empty());
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 0);
}

TEST(AgentHook, RunsAfterAFailureWithItsExitCodeAndBeforeTheRestart) {
  AgentSettings settings = with_hook();
  settings.restarts.max_restarts = 1;
  Agent agent = running(settings);
  Failure failure;
  failure.exit_code = 7;
  failure.node_rank = NodeRank(0);
  failure.rank = GlobalRank(0);
  agent.on(WorkerExited{LocalRank(0), {ExitStatus::Kind::exited, 7}, failure}, start_time);
  const auto actions = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<RunAfterHook>(actions)->exit_code, 7);
  EXPECT_EQ(find<StartRendezvous>(actions), nullptr);
  EXPECT_FALSE(agent.stopping()) << "nothing is said of SIGKILL";
  agent.on(HookEnded{}, start_time);
  EXPECT_NE(find<StartRendezvous>(agent.on(AllGone{}, start_time)), nullptr);
}

TEST(AgentHook, AStopOfTheJobLetsItEnd) {
  Agent agent = in_hook(with_hook());
  EXPECT_EQ(find<SignalWorkers>(agent.on(SignalReceived{SIGTERM}, start_time)), nullptr);
  EXPECT_EQ(agent.deadline(), start_time + 65s);
  agent.on(HookEnded{}, start_time);
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 143);
}

TEST(AgentHook, CtrlCShortensItsTimeAndThenKillsIt) {
  Agent agent = in_hook(with_hook());
  agent.on(SignalReceived{SIGINT}, start_time);
  agent.on(SignalReceived{SIGINT}, start_time);
  EXPECT_EQ(agent.deadline(), start_time + 3s);
  EXPECT_NE(find<KillWorkers>(agent.on(SignalReceived{SIGINT}, start_time)), nullptr);
}

TEST(AgentHook, CtrlCWhileTheWorkersAreKilledCountsForIt) {
  Agent once = running(with_hook()), twice = running(with_hook());
  for (Agent* agent : {&once, &twice}) {
    agent->on(SignalReceived{SIGTERM}, start_time);
    EXPECT_NE(find<KillWorkers>(agent->on(DeadlineReached{}, start_time + 30s)), nullptr);
    EXPECT_TRUE(agent->on(SignalReceived{SIGINT}, start_time + 30s).empty());
  }
  EXPECT_TRUE(twice.on(SignalReceived{SIGINT}, start_time + 30s).empty());
  EXPECT_EQ(once.deadline(), start_time + 35s) << "the kernel has its time all the same";
  for (Agent* agent : {&once, &twice})
    agent->on(WorkerExited{LocalRank(0), {ExitStatus::Kind::signalled, SIGKILL}, {}}, start_time + 31s);
  EXPECT_NE(find<RunAfterHook>(once.on(AllGone{}, start_time + 31s)), nullptr);
  EXPECT_EQ(once.deadline(), start_time + 34s);
  EXPECT_NE(find<Finish>(twice.on(AllGone{}, start_time + 31s)), nullptr);
}

TEST(AgentHook, AHangIsNothingOnceTheWorkersHaveEnded) {
  Failure hang;
  hang.exit_code = 1;
  hang.kind = Failure::Kind::hang;
  Agent clearing = running(with_hook());
  clearing.on(WorkerExited{LocalRank(0), ok, {}}, start_time);
  Agent hook = in_hook(with_hook());
  for (Agent* agent : {&clearing, &hook}) EXPECT_TRUE(agent->on(Hung{hang}, start_time).empty());
  hook.on(HookEnded{}, start_time);
  EXPECT_TRUE(hook.on(Hung{hang}, start_time).empty());
  EXPECT_EQ(find<Finish>(hook.on(AllGone{}, start_time))->exit_code, 0);
}

TEST(AgentHook, WhenEverythingIsKilledItDoesNotBegin) {
  Agent lost = running(with_hook());
  lost.on(GuardLost{}, start_time);
  lost.on(WorkerExited{LocalRank(0), {ExitStatus::Kind::signalled, SIGKILL}, {}}, start_time);
  EXPECT_NE(find<Finish>(lost.on(AllGone{}, start_time)), nullptr);
  Agent hurried = running(with_hook());
  for (int i = 0; i < 3; ++i) hurried.on(SignalReceived{SIGINT}, start_time);
  hurried.on(WorkerExited{LocalRank(0), terminated, {}}, start_time);
  EXPECT_NE(find<Finish>(hurried.on(AllGone{}, start_time)), nullptr);
}

TEST(AgentHook, RunsAfterWorkersThatHadToBeKilled) {
  Agent agent = running(with_hook());
  agent.on(SignalReceived{SIGTERM}, start_time);
  EXPECT_NE(find<KillWorkers>(agent.on(DeadlineReached{}, start_time + 30s)), nullptr);
  agent.on(WorkerExited{LocalRank(0), {ExitStatus::Kind::signalled, SIGKILL}, {}}, start_time + 30s);
  EXPECT_EQ(find<RunAfterHook>(agent.on(AllGone{}, start_time + 30s))->exit_code, 137);
  EXPECT_EQ(agent.deadline(), start_time + 95s);
}

TEST(AgentHook, WhatItLeavesIsToldToExitAndKilledInTheEnd) {
  Agent agent = in_hook(with_hook());
  EXPECT_EQ(find<SignalWorkers>(agent.on(HookEnded{true}, start_time))->signal, SIGTERM);
  EXPECT_EQ(agent.deadline(), start_time + 30s);
  EXPECT_NE(find<KillWorkers>(agent.on(DeadlineReached{}, start_time + 30s)), nullptr);
  EXPECT_TRUE(find<Finish>(agent.on(DeadlineReached{}, start_time + 35s))->left_behind);
}

TEST(AgentHook, OneWithoutALimitHasNoDeadline) {
  AgentSettings settings = with_hook();
  settings.hook_timeout = 0s;
  EXPECT_EQ(in_hook(settings).deadline(), never);
}

// Only workers would run beside those of the others.
TEST(AgentHook, WhenTheStoreIsLostItHasItsTimeAllTheSame) {
  AgentSettings settings = with_hook();
  settings.nnodes = 2;
  Agent agent = in_hook(settings);
  agent.on(StoreLost{"reset", 2s}, start_time);
  EXPECT_EQ(agent.deadline(), start_time + 65s);
  agent.on(MembersChanged{"node 1 is lost", 2s}, start_time);
  EXPECT_EQ(agent.deadline(), start_time + 65s);
}

TEST(AgentHook, AnotherNodesFailureIsTheJobsAndDoesNotDisturbIt) {
  AgentSettings settings = with_hook();
  settings.nnodes = 2;
  Agent agent = in_hook(settings);
  Failure failure;
  failure.exit_code = 9;
  failure.node_rank = NodeRank(1);
  EXPECT_TRUE(agent.on(PeerFailed{failure}, start_time).empty());
  agent.on(HookEnded{}, start_time);
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 9);
}

}  // namespace launch::agent_hook_test

// When an agent looks at its workers before it ends them, and whom it tells first.
#include "launch/core/agent/agent.hpp"

#include "agent_actions.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace launch::agent_evidence_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);
constexpr ExitStatus aborted{ExitStatus::Kind::signalled, SIGABRT};

Agent running(bool stacks = false, int nnodes = 2) {
  AgentSettings settings{.nnodes = nnodes,
                         .nproc = 2,
                         .host = "h",
                         .shutdown_timeout = 30s,
                         .kill_grace = 5s,
                         .evidence = true,
                         .stacks = stacks};
  Agent agent(settings);
  agent.start(start_time);
  agent.on(RendezvousDone{Round{Assignment{.group_world_size = nnodes, .world_size = 4, .role_world_size = 4},
                                std::nullopt, 0, true}},
           start_time);
  return agent;
}

Failure failure(std::string what) {
  Failure failure;
  failure.rank = GlobalRank(1);
  failure.what = std::move(what);
  return failure;
}

TEST(AgentEvidence, IsTakenBeforeTheWorkersAreSignalledAndTheNewsDoNotWaitForIt) {
  EXPECT_EQ(order(running().on(WorkerExited{LocalRank(1), aborted, failure("exit code 7")}, start_time)), "TEs");
}

TEST(AgentEvidence, OfASuspectedHangComesWithStacks) {
  EXPECT_EQ(order(running().on(WorkerExited{LocalRank(1), aborted, failure("signal 6 (SIGABRT)")}, start_time)), "TSs");
  EXPECT_EQ(order(running(false, 1).on(WorkerExited{LocalRank(1), aborted, failure("signal 6 (SIGABRT)")}, start_time)),
            "Ss");
}

TEST(AgentEvidence, IsTakenOnEveryNode) {
  EXPECT_EQ(order(running().on(PeerFailed{failure("signal 6 (SIGABRT)")}, start_time)), "Ss");
  EXPECT_EQ(order(running().on(PeerFailed{failure("exit code 7")}, start_time)), "Es");
}

TEST(AgentEvidence, DoesNotKeepAUserWaiting) {
  EXPECT_EQ(order(running().on(SignalReceived{SIGINT}, start_time)), "Ts");
  EXPECT_EQ(order(running(true).on(SignalReceived{SIGINT}, start_time)), "TSs") << "unless asked for";
}

TEST(AgentEvidence, IsNotTakenWhereItIsNotWanted) {
  AgentSettings settings{.nproc = 2, .host = "h", .shutdown_timeout = 30s, .kill_grace = 5s};
  Agent agent(settings);
  agent.start(start_time);
  agent.on(RendezvousDone{Round{Assignment{.group_world_size = 1, .world_size = 2, .role_world_size = 2}, std::nullopt,
                                0, true}},
           start_time);
  EXPECT_EQ(order(agent.on(WorkerExited{LocalRank(1), aborted, failure("signal 6 (SIGABRT)")}, start_time)), "s");
}

TEST(AgentEvidence, IsNotTakenWhenTheGuardIsGone) { EXPECT_EQ(order(running(true).on(GuardLost{}, start_time)), "sT"); }

TEST(AgentEvidence, DoesNotTakeOfTheWorkersTime) {
  Agent agent = running();
  agent.on(WorkerExited{LocalRank(1), aborted, failure("signal 6 (SIGABRT)")}, start_time);
  agent.on(Signalled{}, start_time + 4s);
  EXPECT_EQ(agent.deadline(), start_time + 34s);
}

// A worker that crashes while it is told to exit was not ended by launch.
TEST(AgentEvidence, OnlyTheSignalsOfLaunchCountAsItsDeed) {
  for (const auto& [signal, ours] : {std::pair(SIGTERM, true), {SIGKILL, true}, {SIGUSR1, false}, {SIGSEGV, false}}) {
    Agent agent = running(false, 1);
    agent.on(WorkerExited{LocalRank(1), aborted, failure("exit code 7")}, start_time);
    agent.on(WorkerExited{LocalRank(0), {ExitStatus::Kind::signalled, signal}, failure("ended")}, start_time);
    const auto end = agent.on(AllGone{}, start_time);
    EXPECT_EQ(find<Finish>(end)->others.at(0).stopped_by_us, ours) << signal;
  }
}

}  // namespace launch::agent_evidence_test

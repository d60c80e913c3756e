#include "launch/core/agent/agent.hpp"

#include "agent_actions.hpp"

#include "launch/core/base/random.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::agent_test {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Time start_time = Time(1h);
constexpr ExitStatus ok{ExitStatus::Kind::exited, 0};
constexpr ExitStatus seven{ExitStatus::Kind::exited, 7};
constexpr ExitStatus terminated{ExitStatus::Kind::signalled, SIGTERM};

AgentSettings settings(int nnodes = 2, int nproc = 2) {
  return {.nnodes = nnodes, .nproc = nproc, .host = "h", .shutdown_timeout = 30s, .kill_grace = 5s};
}

Failure failure_of(int rank, int code) {
  Failure failure;
  failure.exit_code = code;
  failure.rank = GlobalRank(rank);
  return failure;
}

Round round_of(int nnodes, int restarts = 0) {
  return {Assignment{.group_world_size = nnodes, .world_size = 4, .role_world_size = 4}, std::nullopt, restarts, true};
}

Agent running(const AgentSettings& s) {
  Agent agent(s);
  EXPECT_NE(find<StartRendezvous>(agent.start(start_time)), nullptr);
  const auto actions = agent.on(RendezvousDone{round_of(s.nnodes)}, start_time);
  EXPECT_NE(find<StartWorkers>(actions), nullptr);
  return agent;
}

TEST(Agent, SuccessGoesThroughTheBarrier) {
  Agent agent = running(settings());
  EXPECT_TRUE(agent.on(WorkerExited{LocalRank(0), ok, {}}, start_time).empty());
  const auto cleared = agent.on(WorkerExited{LocalRank(1), ok, {}}, start_time);
  EXPECT_EQ(find<SignalWorkers>(cleared)->signal, SIGTERM);
  EXPECT_EQ(find<SignalWorkers>(cleared)->reason, "");
  EXPECT_NE(find<EnterBarrier>(agent.on(AllGone{}, start_time)), nullptr);
  const auto end = agent.on(BarrierDone{}, start_time);
  EXPECT_EQ(find<Finish>(end)->exit_code, 0);
  EXPECT_FALSE(find<Finish>(end)->first);
}

TEST(Agent, OneNodeHasNoBarrier) {
  Agent agent = running(settings(1, 1));
  agent.on(WorkerExited{LocalRank(0), ok, {}}, start_time);
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 0);
}

TEST(Agent, AFailedWorkerStopsTheOthersAndTellsThePeers) {
  Agent agent = running(settings());
  const auto actions = agent.on(WorkerExited{LocalRank(1), seven, failure_of(1, 7)}, start_time);
  EXPECT_EQ(find<SignalWorkers>(actions)->signal, SIGTERM);
  EXPECT_EQ(find<TellPeers>(actions)->failure.rank, GlobalRank(1));
  EXPECT_EQ(agent.deadline(), start_time + 30s);
  EXPECT_TRUE(agent.on(WorkerExited{LocalRank(0), terminated, failure_of(0, 143)}, start_time).empty());
  const auto end = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<Finish>(end)->exit_code, 7);
  ASSERT_EQ(find<Finish>(end)->others.size(), 1U);
  EXPECT_TRUE(find<Finish>(end)->others[0].stopped_by_us);
}

TEST(Agent, TheNewsAreOnTheirWayBeforeTheWorkersAreSignalled) {
  Agent agent = running(settings());
  const auto actions = agent.on(WorkerExited{LocalRank(1), seven, failure_of(1, 7)}, start_time);
  EXPECT_TRUE(std::holds_alternative<TellPeers>(actions.at(0)));
  EXPECT_TRUE(std::holds_alternative<SignalWorkers>(actions.at(1)));
}

TEST(Agent, WhoIgnoresTheSignalIsKilledAfterTheShutdownTimeout) {
  Agent agent = running(settings());
  agent.on(WorkerExited{LocalRank(1), seven, failure_of(1, 7)}, start_time);
  EXPECT_NE(find<KillWorkers>(agent.on(DeadlineReached{}, start_time + 30s)), nullptr);
  const auto end = agent.on(DeadlineReached{}, agent.deadline());
  EXPECT_TRUE(find<Finish>(end)->left_behind);
  EXPECT_EQ(find<Finish>(end)->exit_code, 7);
}

TEST(Agent, AShutdownTimeoutOfZeroKillsAtOnce) {
  AgentSettings s = settings();
  s.shutdown_timeout = 0s;
  Agent agent = running(s);
  const auto actions = agent.on(WorkerExited{LocalRank(1), seven, failure_of(1, 7)}, start_time);
  EXPECT_NE(find<KillWorkers>(actions), nullptr);
  EXPECT_EQ(find<SignalWorkers>(actions), nullptr);
}

TEST(Agent, ASignalIsPassedOnAndGivesTheExitCode) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Agent agent = running(settings());
    const auto actions = agent.on(SignalReceived{signal}, start_time);
    EXPECT_EQ(find<SignalWorkers>(actions)->signal, signal);
    EXPECT_EQ(find<TellPeers>(actions)->failure.exit_code, 128 + signal);
    EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 128 + signal);
  }
}

TEST(Agent, CtrlCAgainShortensTheGraceAndThenKillsARepeatedSigtermDoesNot) {
  Agent agent = running(settings());
  agent.on(SignalReceived{SIGTERM}, start_time);
  EXPECT_TRUE(agent.on(SignalReceived{SIGTERM}, start_time).empty());
  EXPECT_EQ(agent.deadline(), start_time + 30s);
  EXPECT_TRUE(agent.on(SignalReceived{SIGINT}, start_time).empty());
  EXPECT_EQ(agent.deadline(), start_time + 3s);
  EXPECT_NE(find<KillWorkers>(agent.on(SignalReceived{SIGINT}, start_time)), nullptr);
}

TEST(Agent, WithoutItsGuardItKillsAndTellsWhateverItWasDoing) {
  Agent agent = running(settings());
  const auto actions = agent.on(GuardLost{}, start_time);
  EXPECT_EQ(find<SignalWorkers>(actions)->signal, SIGKILL);
  EXPECT_EQ(find<TellPeers>(actions)->failure.exit_code, 128 + SIGKILL);

  Agent stopping = running(settings());
  stopping.on(SignalReceived{SIGTERM}, start_time);
  EXPECT_NE(find<KillWorkers>(stopping.on(GuardLost{}, start_time)), nullptr);

  Agent restarting = running(settings());
  Failure failure = failure_of(3, 9);
  failure.restart = true;
  restarting.on(PeerFailed{failure}, start_time);
  EXPECT_NE(find<KillWorkers>(restarting.on(GuardLost{}, start_time)), nullptr);
  EXPECT_EQ(find<Finish>(restarting.on(AllGone{}, start_time))->exit_code, 128 + SIGKILL);
}

TEST(Agent, APeersFailureStopsUsWithItsCodeAndIsNotToldAgain) {
  Agent agent = running(settings());
  const auto actions = agent.on(PeerFailed{failure_of(3, 9)}, start_time);
  EXPECT_EQ(find<SignalWorkers>(actions)->signal, SIGTERM);
  EXPECT_EQ(find<TellPeers>(actions), nullptr);
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 9);
}

TEST(Agent, WhatTheStoreSawFirstIsTheRootCause) {
  Agent agent = running(settings());
  agent.on(WorkerExited{LocalRank(1), seven, failure_of(1, 7)}, start_time);
  Failure earlier = failure_of(3, 9);
  earlier.node_rank = NodeRank(1);
  agent.on(PeerFailed{earlier}, start_time);
  const auto end = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<Finish>(end)->exit_code, 9);
  EXPECT_EQ(find<Finish>(end)->others.size(), 1U);
}

TEST(Agent, AFailureElsewhereEndsTheWaitAtTheBarrier) {
  Agent agent = running(settings(2, 1));
  agent.on(WorkerExited{LocalRank(0), ok, {}}, start_time);
  agent.on(AllGone{}, start_time);
  agent.on(PeerFailed{failure_of(3, 9)}, start_time);
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 9);
}

TEST(Agent, TheHostMayLeaveOnceWeAreInTheBarrier) {
  Agent agent = running(settings(2, 1));
  agent.on(WorkerExited{LocalRank(0), ok, {}}, start_time);
  agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<Finish>(agent.on(StoreLost{"closed"}, start_time))->exit_code, 0);
}

TEST(Agent, ALostStoreStopsRunningWorkers) {
  Agent agent = running(settings());
  const auto actions = agent.on(StoreLost{"reset"}, start_time);
  EXPECT_NE(find<SignalWorkers>(actions), nullptr);
  const auto end = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<Finish>(end)->exit_code, 1);
  EXPECT_THAT(find<Finish>(end)->first->what, HasSubstr("lost contact with the store of node 0 (reset)"));
}

TEST(Agent, AFailedRendezvousEndsWithItsOwnCodeAndStartsNothing) {
  for (const auto& [code, expected] : {std::pair(ErrorCode::timeout, 124), std::pair(ErrorCode::conflict, 2)}) {
    Agent agent(settings());
    agent.start(start_time);
    const auto actions = agent.on(RendezvousFailed{{code, "why"}}, start_time);
    EXPECT_NE(find<TellPeers>(actions), nullptr);
    EXPECT_EQ(find<StartWorkers>(actions), nullptr);
    EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, expected);
  }
}

TEST(Agent, ASignalDuringTheRendezvousEndsIt) {
  Agent agent(settings());
  agent.start(start_time);
  EXPECT_NE(find<StopRendezvous>(agent.on(SignalReceived{SIGINT}, start_time)), nullptr);
  EXPECT_TRUE(agent.on(RendezvousDone{}, start_time).empty());
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 130);
}

TEST(Agent, AWorkerThatCannotStartStopsThoseThatDid) {
  Agent agent = running(settings());
  Failure failure = failure_of(1, 127);
  failure.kind = Failure::Kind::start;
  const auto actions = agent.on(StartFailed{failure}, start_time);
  EXPECT_NE(find<SignalWorkers>(actions), nullptr);
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 127);
}

TEST(Agent, LeftoversOfSuccessAreKilledAndDoNotSpoilIt) {
  Agent agent = running(settings(1, 1));
  agent.on(WorkerExited{LocalRank(0), ok, {}}, start_time);
  EXPECT_NE(find<KillWorkers>(agent.on(DeadlineReached{}, start_time + 30s)), nullptr);
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time + 30s))->exit_code, 0);
}

TEST(Agent, LeftoversThatOutliveSigkillDoNotHoldItUp) {
  Agent agent = running(settings(2, 1));
  agent.on(WorkerExited{LocalRank(0), ok, {}}, start_time);
  agent.on(DeadlineReached{}, start_time + 30s);
  EXPECT_NE(find<EnterBarrier>(agent.on(DeadlineReached{}, start_time + 35s)), nullptr);
  EXPECT_TRUE(find<Finish>(agent.on(BarrierDone{}, start_time))->left_behind);
}

// Whatever happens in whatever order, an agent whose workers all end comes to exactly one end.
TEST(Agent, AnySequenceOfEventsEndsOnce) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Agent agent(settings());
    AgentActions actions = agent.start(start_time);
    Time now = start_time;
    int alive = 0;
    int finished = 0;
    bool barrier = false;
    for (int i = 0; i < 60 && finished == 0; ++i) {
      if (find<StartWorkers>(actions) != nullptr) alive = 2;
      if (find<EnterBarrier>(actions) != nullptr) barrier = true;
      if (find<Finish>(actions) != nullptr) ++finished;
      now += 1s;
      switch (random.next() % 9) {
        case 0:
          actions = agent.on(RendezvousDone{}, now);
          break;
        case 1:
          actions = agent.on(SignalReceived{SIGTERM}, now);
          break;
        case 2:
          actions = agent.on(PeerFailed{failure_of(3, 9)}, now);
          break;
        case 3:
          actions = agent.on(StoreLost{"x"}, now);
          break;
        case 4:
          actions = agent.on(RendezvousFailed{{ErrorCode::timeout, "x"}}, now);
          break;
        case 5:
          actions = barrier ? agent.on(BarrierDone{}, now) : AgentActions{};
          break;
        case 6:
          actions = alive == 0 ? agent.on(AllGone{}, now) : AgentActions{};
          break;
        case 7:
          actions = agent.deadline() <= now ? agent.on(DeadlineReached{}, now) : AgentActions{};
          break;
        default:
          actions.clear();
          if (alive > 0)
            actions = agent.on(WorkerExited{LocalRank(--alive), random.next() % 2 == 0 ? ok : seven, {}}, now);
      }
    }
    EXPECT_LE(finished, 1);
    if (finished == 1) {
      EXPECT_TRUE(agent.on(SignalReceived{SIGTERM}, now).empty());
      EXPECT_EQ(agent.deadline(), never);
    }
  }
}

AgentSettings with_restarts(int count, int nnodes = 2) {
  AgentSettings result = settings(nnodes, 1);
  result.restarts.max_restarts = count;
  return result;
}

Failure restarted(int rank) {
  Failure failure = failure_of(rank, 7);
  failure.restart = true;
  return failure;
}

TEST(AgentRestart, AFailureLeadsToTheNextRoundOnceAllHaveGone) {
  Agent agent = running(with_restarts(1));
  const auto actions = agent.on(WorkerExited{LocalRank(0), seven, failure_of(0, 7)}, start_time);
  EXPECT_NE(find<SignalWorkers>(actions), nullptr);
  EXPECT_TRUE(find<TellPeers>(actions)->failure.restart);
  EXPECT_TRUE(agent.on(PeerFailed{restarted(0)}, start_time).empty());
  const auto anew = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<AnnounceRound>(anew)->restart, 1);
  EXPECT_NE(find<StartRendezvous>(anew), nullptr);
  EXPECT_EQ(find<StartWorkers>(agent.on(RendezvousDone{round_of(2, 1)}, start_time))->round.restarts, 1);
  // The budget is spent.
  const auto last = agent.on(WorkerExited{LocalRank(0), seven, failure_of(0, 7)}, start_time);
  EXPECT_FALSE(find<TellPeers>(last)->failure.restart);
  EXPECT_EQ(find<TellPeers>(last)->failure.why_final, "limit reached (--max-restarts=1)");
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 7);
}

TEST(AgentRestart, APeersFailureLeadsThereToo) {
  Agent agent = running(with_restarts(0));  // the node that failed decides
  EXPECT_NE(find<SignalWorkers>(agent.on(PeerFailed{restarted(3)}, start_time)), nullptr);
  EXPECT_NE(find<StartRendezvous>(agent.on(AllGone{}, start_time)), nullptr);
}

TEST(AgentRestart, ANodeInTheBarrierStartsAnewAtOnce) {
  Agent agent = running(with_restarts(1));
  agent.on(WorkerExited{LocalRank(0), ok, {}}, start_time);
  EXPECT_NE(find<EnterBarrier>(agent.on(AllGone{}, start_time)), nullptr);
  EXPECT_NE(find<StartRendezvous>(agent.on(PeerFailed{restarted(3)}, start_time)), nullptr);
}

TEST(AgentRestart, ASignalEndsWhatWasAboutToGoOn) {
  Agent agent = running(with_restarts(3));
  agent.on(WorkerExited{LocalRank(0), seven, failure_of(0, 7)}, start_time);
  const auto actions = agent.on(SignalReceived{SIGTERM}, start_time);
  EXPECT_FALSE(find<TellPeers>(actions)->failure.restart);
  EXPECT_TRUE(agent.on(PeerFailed{restarted(1)}, start_time).empty());
  EXPECT_EQ(find<Finish>(agent.on(AllGone{}, start_time))->exit_code, 143);
}

TEST(AgentRestart, NothingStartsBesideWhatOutlivedSigkill) {
  Agent agent = running(with_restarts(3));
  agent.on(WorkerExited{LocalRank(0), seven, failure_of(0, 7)}, start_time);
  EXPECT_NE(find<KillWorkers>(agent.on(DeadlineReached{}, start_time + 30s)), nullptr);
  const auto end = agent.on(DeadlineReached{}, start_time + 40s);
  EXPECT_FALSE(find<TellPeers>(end)->failure.restart);
  EXPECT_TRUE(find<Finish>(end)->left_behind);
}

TEST(AgentRestart, ATorchrunNodeOfAStaticJobKeepsItFromRestarting) {
  Agent agent(with_restarts(3));
  agent.start(start_time);
  Round round = round_of(2);
  round.can_restart = false;
  agent.on(RendezvousDone{round}, start_time);
  const auto actions = agent.on(WorkerExited{LocalRank(0), seven, failure_of(0, 7)}, start_time);
  EXPECT_FALSE(find<TellPeers>(actions)->failure.restart);
  EXPECT_THAT(find<TellPeers>(actions)->failure.why_final, HasSubstr("torchrun"));
}

TEST(AgentRestart, MembersThatChangeCostNoRestart) {
  Agent agent = running(with_restarts(0));
  EXPECT_EQ(find<SignalWorkers>(agent.on(MembersChanged{"n2 joins"}, start_time))->signal, SIGTERM);
  const auto anew = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<AnnounceRound>(anew)->restart, 0);
  EXPECT_NE(find<StartRendezvous>(anew), nullptr);
}

TEST(AgentRestart, FailuresInQuickSuccessionArePausedBetween) {
  Agent agent = running(with_restarts(5, 1));
  Duration paused{};
  for (int restarts = 1; restarts <= 3; ++restarts) {
    agent.on(WorkerExited{LocalRank(0), seven, failure_of(0, 7)}, start_time);
    const auto anew = agent.on(AllGone{}, start_time);
    if (find<StartRendezvous>(anew) == nullptr) {
      EXPECT_GT(agent.deadline() - start_time, paused);
      paused = agent.deadline() - start_time;
      EXPECT_NE(find<StartRendezvous>(agent.on(DeadlineReached{}, agent.deadline())), nullptr);
    } else {
      EXPECT_EQ(restarts, 1);
    }
    agent.on(RendezvousDone{round_of(1, restarts)}, start_time);
  }
  EXPECT_EQ(paused, 200ms);
}

TEST(AgentRestart, ASpareThatWasNotNeededEndsWell) {
  Agent agent(settings());
  agent.start(start_time);
  EXPECT_EQ(find<Finish>(agent.on(NotNeeded{}, start_time))->exit_code, 0);
}

TEST(Agent, ALostNodeCostsNoRestartWhereTheOthersCanGoOnAndIsTheEndElsewhere) {
  for (const bool can_go_on : {true, false}) {
    Agent agent = running(settings(3));
    Failure lost = failure_of(-1, 1);
    lost.kind = Failure::Kind::lost;
    lost.restart = can_go_on;
    EXPECT_EQ(find<SignalWorkers>(agent.on(PeerFailed{lost}, start_time))->signal, SIGTERM);
    const auto actions = agent.on(AllGone{}, start_time);
    if (can_go_on) {
      EXPECT_EQ(find<AnnounceRound>(actions)->restart, 0);
    }
    EXPECT_EQ(find<StartRendezvous>(actions) != nullptr, can_go_on);
    EXPECT_EQ(find<Finish>(actions) != nullptr, !can_go_on);
  }
}

}  // namespace launch::agent_test

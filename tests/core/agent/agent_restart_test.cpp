// What an agent counts of the restarts of its job, whom it accuses, and what a lost store means at the end.
#include "launch/core/agent/agent.hpp"

#include "agent_actions.hpp"

#include <gtest/gtest.h>

namespace launch::agent_restart_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);
constexpr ExitStatus seven{ExitStatus::Kind::exited, 7};

Failure failure_of(int rank) {
  Failure failure;
  failure.exit_code = 7;
  failure.rank = GlobalRank(rank);
  return failure;
}

Failure restarted(int rank) {
  Failure failure = failure_of(rank);
  failure.restart = true;
  return failure;
}

RendezvousDone formed(int restarts) {
  return {{Assignment{.group_world_size = 2, .world_size = 4, .role_world_size = 4}, std::nullopt, restarts, true}};
}

AgentSettings with_restarts(int count) {
  AgentSettings settings{.nnodes = 2, .nproc = 2, .host = "h", .shutdown_timeout = 30s, .kill_grace = 5s};
  settings.restarts.max_restarts = count;
  return settings;
}

Agent running(const AgentSettings& settings) {
  Agent agent(settings);
  agent.start(start_time);
  agent.on(formed(0), start_time);
  return agent;
}

TEST(AgentRestart, TheWindowCountsTheRestartsOfAllNodes) {
  AgentSettings within = with_restarts(1);
  within.restarts.window = 600s;
  Agent agent = running(within);
  agent.on(PeerFailed{restarted(3)}, start_time);
  const auto anew = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<AnnounceRound>(anew)->count, "restart 1 (1 of 1 within 10 min)");
  agent.on(formed(1), start_time);
  const auto own = agent.on(WorkerExited{LocalRank(0), seven, failure_of(0)}, start_time + 60s);
  EXPECT_FALSE(find<TellPeers>(own)->failure.restart);
  EXPECT_EQ(find<TellPeers>(own)->failure.why_final, "limit reached (--max-restarts=1 within 10 min)");
}

TEST(AgentRestart, TheCountTravelsWithTheFailure) {
  Agent agent = running(with_restarts(9));
  Failure third = restarted(3);
  third.restarts = 3;  // this node had not joined when the first two came
  agent.on(PeerFailed{third}, start_time);
  const auto anew = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<AnnounceRound>(anew)->restart, 3);
  EXPECT_EQ(find<StartRendezvous>(anew)->restarts, 3) << "the next store's host may be one that knows of none";
  const auto started = agent.on(formed(0), start_time);  // the store has not heard of any
  EXPECT_EQ(find<StartWorkers>(started)->round.restarts, 3);
  const auto own = agent.on(WorkerExited{LocalRank(0), seven, failure_of(0)}, start_time + 60s);
  EXPECT_EQ(find<TellPeers>(own)->failure.restarts, 4);
}

// They are about the round that has ended.
TEST(AgentRestart, NewsThatComeWhileItPausesNeitherCountNorEndThePause) {
  Agent agent = running(with_restarts(9));
  for (const int round : {0, 1}) {
    agent.on(WorkerExited{LocalRank(0), seven, failure_of(0)}, start_time);
    agent.on(AllGone{}, start_time);
    if (round == 0) agent.on(formed(1), start_time);
  }
  ASSERT_EQ(agent.state(), "pausing");
  const Time pause_ends = agent.deadline();
  Failure lost = restarted(3);
  lost.kind = Failure::Kind::lost;
  for (const AgentEvent& news : std::vector<AgentEvent>{
           PeerFailed{restarted(3)}, PeerFailed{lost}, MembersChanged{"n2 leaves"}, MembersChanged{"n2 leaves", 1ms}}) {
    EXPECT_TRUE(agent.on(news, start_time).empty());
    EXPECT_EQ(agent.state(), "pausing");
    EXPECT_EQ(agent.deadline(), pause_ends);
  }
}

TEST(AgentRestart, NoneFromTheBarrierBesideWhatOutlivedSigkill) {
  Agent agent = running(with_restarts(1));
  for (const int rank : {0, 1}) agent.on(WorkerExited{LocalRank(rank), {}, {}}, start_time);
  EXPECT_NE(find<KillWorkers>(agent.on(DeadlineReached{}, agent.deadline())), nullptr);
  const auto left_behind = agent.on(DeadlineReached{}, agent.deadline());
  EXPECT_NE(find<EnterBarrier>(left_behind), nullptr) << "the workers have ended well";
  const auto end = agent.on(PeerFailed{restarted(3)}, start_time);
  EXPECT_EQ(find<StartRendezvous>(end), nullptr) << "what is left would meet the new workers";
  ASSERT_NE(find<Finish>(end), nullptr);
  EXPECT_TRUE(find<Finish>(end)->left_behind);
  EXPECT_EQ(find<Finish>(end)->exit_code, 1);
}

TEST(AgentRestart, WhoStoodStillAccusesNobodyElse) {
  Agent agent = running(with_restarts(0));
  agent.on(StoreLost{"reset", Duration::max(), 9s}, start_time);
  EXPECT_NE(find<Finish>(agent.on(AllGone{}, start_time))->first->what.find("was frozen for 9 s"), std::string::npos);
}

TEST(AgentRestart, WhoStopsItsWorkersForARestartCallsTheLossOfTheStoreWhatOthersCallIt) {
  Agent agent = running(with_restarts(1));
  agent.on(PeerFailed{restarted(3)}, start_time);
  agent.on(StoreLost{"closed", Duration::max(), {}, true}, start_time);
  const auto end = agent.on(AllGone{}, start_time);
  ASSERT_NE(find<Finish>(end), nullptr) << "there is no store to come together at";
  EXPECT_EQ(find<Finish>(end)->exit_code, 1);
  EXPECT_NE(find<Finish>(end)->first->what.find("lost contact with the store of node 0 (closed)"), std::string::npos);
}

TEST(AgentRestart, InTheBarrierTheLossOfAHostThatWouldHaveWaitedIsAFailure) {
  Agent agent = running(with_restarts(0));
  for (const int local_rank : {0, 1}) agent.on(WorkerExited{LocalRank(local_rank), {}, {}}, start_time);
  EXPECT_NE(find<EnterBarrier>(agent.on(AllGone{}, start_time)), nullptr);
  EXPECT_EQ(find<Finish>(agent.on(StoreLost{"closed", Duration::max(), {}, true}, start_time)), nullptr);
  const auto end = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<Finish>(end)->exit_code, 1);
  EXPECT_NE(find<Finish>(end)->first->what.find("lost contact with the store of node 0 (closed)"), std::string::npos);
}

TEST(AgentRestart, AfterAHangIfTheUserWantsIt) {
  const Hung hang{failure_of_hang("no progress for 20 s"), true};
  Agent agent = running(with_restarts(1));
  EXPECT_TRUE(find<TellPeers>(agent.on(hang, start_time))->failure.restart);
  const auto anew = agent.on(AllGone{}, start_time);
  ASSERT_NE(find<AnnounceRound>(anew), nullptr);
  EXPECT_EQ(find<AnnounceRound>(anew)->reason, "no progress for 20 s");
  EXPECT_EQ(find<AnnounceRound>(anew)->count, "restart 1 of 1");
  EXPECT_TRUE(agent.on(hang, start_time).empty()) << "nothing runs that could hang";
  agent.on(formed(1), start_time);
  EXPECT_FALSE(find<TellPeers>(agent.on(hang, start_time))->failure.restart) << "there are no more";
  const auto end = agent.on(AllGone{}, start_time);
  EXPECT_EQ(find<Finish>(end)->first->why_final, "limit reached (--max-restarts=1)");
}

TEST(AgentRestart, NoneAfterAHangIfTheUserWantsTheJobToEnd) {
  Agent agent = running(with_restarts(1));
  const auto told = agent.on(Hung{failure_of_hang("no progress for 20 s"), false}, start_time);
  EXPECT_FALSE(find<TellPeers>(told)->failure.restart);
  EXPECT_TRUE(find<GatherEvidence>(told) == nullptr || find<GatherEvidence>(told)->stacks);
  const auto end = agent.on(AllGone{}, start_time);
  ASSERT_NE(find<Finish>(end), nullptr);
  EXPECT_EQ(find<Finish>(end)->exit_code, 1);
  EXPECT_EQ(find<Finish>(end)->first->why_final, "--on-hang=fail ends the job");
}

TEST(AgentRestart, AfterAHangOfOthersFromTheBarrier) {
  Agent agent = running(with_restarts(1));
  for (const int rank : {0, 1}) agent.on(WorkerExited{LocalRank(rank), {}, {}}, start_time);
  EXPECT_NE(find<EnterBarrier>(agent.on(AllGone{}, start_time)), nullptr);
  const auto told = agent.on(Hung{failure_of_hang("no progress for 20 s"), true}, start_time);
  ASSERT_NE(find<TellPeers>(told), nullptr) << "the others must hear of it before this node joins again";
  EXPECT_TRUE(find<TellPeers>(told)->failure.restart);
  EXPECT_NE(find<AnnounceRound>(agent.on(AllGone{}, start_time)), nullptr);
}

}  // namespace launch::agent_restart_test

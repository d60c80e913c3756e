// The failure of a worker that turns out to be a consequence of the end of another node.
#include "launch/core/agent/agent.hpp"

#include "agent_actions.hpp"

#include <csignal>
#include <utility>

#include <gtest/gtest.h>

namespace launch::agent_excuse_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);

void form(Agent& agent) {
  EXPECT_NE(find<StartWorkers>(agent.on(RendezvousDone{round_of_three()}, start_time)), nullptr);
}

// --max-membership-restarts=1
Agent running(int max_restarts) {
  AgentSettings chosen = settings_of_three();
  chosen.restarts.max_membership_restarts = 1;
  chosen.restarts.max_restarts = max_restarts;
  Agent agent(chosen);
  agent.start(start_time);
  form(agent);
  return agent;
}

Failure failed_worker(int max_restarts) {
  Failure failure =
      failure_of_worker({NodeRank(1), "h"}, {GlobalRank(2), LocalRank(0), 42, ""}, {ExitStatus::Kind::exited, 1});
  failure.restart = max_restarts > 0;
  return failure;
}

// An agent one of whose workers has failed; the others have not been told yet.
Agent failed(int max_restarts) {
  Agent agent = running(max_restarts);
  agent.on(WorkerExited{LocalRank(0), {ExitStatus::Kind::exited, 1}, failed_worker(max_restarts)}, start_time);
  return agent;
}

void end_workers(Agent& agent) {
  agent.on(WorkerExited{LocalRank(1), {ExitStatus::Kind::signalled, SIGTERM}, {}}, start_time);
}

const MembersChanged excuse{"n0, which hosted the rendezvous, left without a report", 27s, true, true};

TEST(AgentExcuse, AFailureThatIsExcusedIsNoRestartAndNoEnd) {
  for (const int max_restarts : {0, 3}) {
    Agent agent = failed(max_restarts);
    EXPECT_TRUE(agent.on(excuse, start_time).empty());
    end_workers(agent);
    const auto actions = agent.on(AllGone{}, start_time);
    EXPECT_EQ(find<Finish>(actions), nullptr);
    const auto* announced = find<AnnounceRound>(actions);
    ASSERT_NE(announced, nullptr);
    EXPECT_EQ(announced->restart, 0);
    EXPECT_EQ(announced->reason, excuse.reason);
    ASSERT_NE(find<StartRendezvous>(actions), nullptr) << "without a pause";
    EXPECT_EQ(find<StartRendezvous>(actions)->restarts, 0);
  }
}

TEST(AgentExcuse, AFailureOfAnotherNodeIsNotExcused) {
  Agent agent = failed(0);
  Failure other = failed_worker(0);
  other.kind = Failure::Kind::start;
  agent.on(PeerFailed{other}, start_time);
  agent.on(excuse, start_time);
  end_workers(agent);
  EXPECT_NE(find<Finish>(agent.on(AllGone{}, start_time)), nullptr);
}

TEST(AgentExcuse, ANodeThatWasToldToStopMeanwhileLeaves) {
  for (const int max_restarts : {0, 3}) {
    Agent agent = failed(max_restarts);
    AgentActions told = agent.on(SignalReceived{SIGTERM, "", SIGTERM}, start_time);
    for (AgentAction& action : agent.on(excuse, start_time)) told.push_back(std::move(action));
    const auto* tells = find<TellPeers>(told);
    ASSERT_NE(tells, nullptr);
    EXPECT_EQ(tells->failure.kind, Failure::Kind::signal);
    end_workers(agent);
    const AgentActions actions = agent.on(AllGone{}, start_time);
    const auto* finish = find<Finish>(actions);
    ASSERT_NE(finish, nullptr);
    EXPECT_EQ(finish->exit_code, 128 + SIGTERM);
  }
}

TEST(AgentExcuse, AnExcuseCountsAsAChangeOfMembers) {
  Agent agent = failed(0);
  agent.on(excuse, start_time);
  end_workers(agent);
  agent.on(AllGone{}, start_time);
  form(agent);
  agent.on(WorkerExited{LocalRank(0), {ExitStatus::Kind::exited, 1}, failed_worker(0)}, start_time);
  const auto refused = agent.on(excuse, start_time);
  ASSERT_NE(find<TellPeers>(refused), nullptr);
  EXPECT_FALSE(find<TellPeers>(refused)->failure.why_final.empty());
  EXPECT_FALSE(find<TellPeers>(refused)->failure.restart);
}

}  // namespace launch::agent_excuse_test

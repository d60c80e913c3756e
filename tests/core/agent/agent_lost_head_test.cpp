// A node of launch --hosts whose connection to the head is lost, or whose launch was killed: that is no stop by a user.
#include "launch/core/agent/agent.hpp"

#include "agent_actions.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace launch::agent_lost_head_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);

enum class Job {
  fixed,
  elastic,
  elastic_host_of_store
};

Agent joining(Job job, bool hosted = true) {
  AgentSettings settings{
      .nnodes = 3, .node_rank = NodeRank::none(), .nproc = 1, .host = "h", .shutdown_timeout = 30s, .kill_grace = 5s};
  settings.leaves = job != Job::fixed;
  settings.hosted = hosted;
  Agent agent(settings);
  agent.start(start_time);
  return agent;
}

Agent running(Job job, bool hosted = true) {
  Agent agent = joining(job, hosted);
  Round round{Assignment{.group_rank = NodeRank(1),
                         .group_world_size = 3,
                         .base_global_rank = GlobalRank(1),
                         .world_size = 3,
                         .base_role_rank = 1,
                         .role_world_size = 3},
              std::nullopt, 0, true};
  round.may_leave = job == Job::elastic;
  agent.on(RendezvousDone{round}, start_time);
  return agent;
}

SignalReceived lost_head() { return {SIGTERM, "since it is lost", SIGTERM, true}; }

// What the other nodes are told.
Failure told(Agent agent, const AgentEvent& event) {
  const auto actions = agent.on(event, start_time);
  const auto* tell = find<TellPeers>(actions);
  EXPECT_NE(tell, nullptr);
  EXPECT_NE(find<SignalWorkers>(actions), nullptr) << "the workers end in any case";
  return tell != nullptr ? tell->failure : Failure();
}

TEST(AgentLostHead, TheLossOfTheConnectionIsTheCause) {
  for (const Job job : {Job::fixed, Job::elastic_host_of_store}) {
    const Failure failure = told(running(job), lost_head());
    EXPECT_EQ(failure.kind, Failure::Kind::lost);
    EXPECT_EQ(failure.exit_code, 1);
    EXPECT_EQ(failure.what, "launch --hosts has lost its connection to this host");
    EXPECT_EQ(failure.host, "h");
    EXPECT_FALSE(failure.restart) << "nobody starts a node there again";
  }
}

TEST(AgentLostHead, IfTheOthersGoOnTheNodeLeavesThem) {
  EXPECT_EQ(told(running(Job::elastic), lost_head()).kind, Failure::Kind::signal);
  EXPECT_EQ(told(running(Job::elastic), GuardLost{}).kind, Failure::Kind::signal);
}

// A spare, or one that has just been started.
TEST(AgentLostHead, ANodeThatWasInNoRoundLeavesAJobThatNeedsNoneOfThem) {
  for (const AgentEvent& event : {AgentEvent(lost_head()), AgentEvent(GuardLost{})}) {
    for (const Job job : {Job::fixed, Job::elastic}) {
      Agent agent = joining(job);
      const auto actions = agent.on(event, start_time);
      const auto* tell = find<TellPeers>(actions);
      ASSERT_NE(tell, nullptr);
      EXPECT_EQ(tell->failure.kind, job == Job::elastic ? Failure::Kind::signal : Failure::Kind::lost);
    }
  }
}

TEST(AgentLostHead, ASignalOfAUserIsAStop) {
  const Failure failure = told(running(Job::fixed), SignalReceived{SIGTERM});
  EXPECT_EQ(failure.kind, Failure::Kind::signal);
  EXPECT_EQ(failure.exit_code, 128 + SIGTERM);
}

TEST(AgentLostHead, ALaunchThatWasKilledIsALostNodeThereAndAStopElsewhere) {
  const Failure hosted = told(running(Job::fixed), GuardLost{});
  EXPECT_EQ(hosted.kind, Failure::Kind::lost);
  EXPECT_EQ(hosted.exit_code, 1);
  const Failure alone = told(running(Job::fixed, false), GuardLost{});
  EXPECT_EQ(alone.kind, Failure::Kind::signal);
  EXPECT_EQ(alone.exit_code, 128 + SIGKILL);
}

}  // namespace launch::agent_lost_head_test

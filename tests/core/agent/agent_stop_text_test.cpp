// What an agent says of a signal that stops the job: it must be what the agent then does.
#include "launch/core/agent/agent.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace launch::agent_stop_text_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);
const std::string stops = "received SIGINT from the terminal, stopping";
const std::string hurries = "received SIGINT from the terminal: the workers get 3 s at most";
const std::string kills = "received SIGINT from the terminal: killing the workers";

Agent joining() {
  Agent agent({.nnodes = 2, .nproc = 2, .host = "h", .shutdown_timeout = 30s, .kill_grace = 5s});
  agent.start(start_time);
  return agent;
}

Agent running() {
  Agent agent = joining();
  agent.on(RendezvousDone{Round{Assignment{.group_world_size = 2, .world_size = 4, .role_world_size = 4}, std::nullopt,
                                0, true}},
           start_time);
  return agent;
}

std::string at_ctrl_c(const Agent& agent) { return agent.stop_text(SIGINT, "from the terminal"); }

TEST(AgentStopText, TheFirstCtrlCSaysWhatFurtherOnesDo) {
  Agent agent = running();
  EXPECT_EQ(at_ctrl_c(agent), stops + " (again: the workers get 3 s at most; a third time: they are killed)");
  agent.on(SignalReceived{SIGINT}, start_time);
  EXPECT_EQ(at_ctrl_c(agent), hurries);
  agent.on(SignalReceived{SIGINT}, start_time);
  EXPECT_EQ(at_ctrl_c(agent), kills);
  agent.on(SignalReceived{SIGINT}, start_time);
  EXPECT_EQ(at_ctrl_c(agent), stops) << "they were killed";
}

TEST(AgentStopText, AfterAnotherStopOrAFailureTheFirstOneHurries) {
  Failure failure;
  failure.exit_code = 9;
  for (const AgentEvent& event : {AgentEvent(SignalReceived{SIGTERM}), AgentEvent(PeerFailed{failure})}) {
    Agent agent = running();
    agent.on(event, start_time);
    EXPECT_EQ(at_ctrl_c(agent), hurries);
    agent.on(SignalReceived{SIGINT}, start_time);
    EXPECT_EQ(agent.deadline(), start_time + 3s);
  }
}

TEST(AgentStopText, WhileTheAfterHookRunsItIsSaidOfIt) {
  Agent agent({.nnodes = 1, .nproc = 1, .host = "h", .shutdown_timeout = 30s, .kill_grace = 5s, .after_hook = true});
  agent.start(start_time);
  Round round;
  round.assignment = {.group_world_size = 1, .world_size = 1};
  agent.on(RendezvousDone{round}, start_time);
  agent.on(WorkerExited{LocalRank(0), {}, {}}, start_time);
  agent.on(AllGone{}, start_time);
  const std::string hook = "received SIGINT from the terminal: the command of --after-workers ";
  EXPECT_EQ(agent.stop_text(SIGTERM, ""), "received SIGTERM: the command of --after-workers goes on");
  EXPECT_EQ(at_ctrl_c(agent), hook + "goes on (again: it gets 3 s at most; a third time: it is killed)");
  agent.on(SignalReceived{SIGINT}, start_time);
  EXPECT_EQ(at_ctrl_c(agent), hook + "gets 3 s at most");
  agent.on(SignalReceived{SIGINT}, start_time);
  EXPECT_EQ(at_ctrl_c(agent), "received SIGINT from the terminal: killing the command of --after-workers");
  agent.on(SignalReceived{SIGINT}, start_time);
  EXPECT_EQ(at_ctrl_c(agent), stops) << "it was killed";
}

TEST(AgentStopText, WithoutWorkersAndForOtherSignalsThereIsNothingToAdd) {
  EXPECT_EQ(at_ctrl_c(joining()), stops);
  EXPECT_EQ(running().stop_text(SIGTERM, "from pid 7"), "received SIGTERM from pid 7, stopping");
  EXPECT_EQ(running().stop_text(SIGTERM, ""), "received SIGTERM, stopping");
}

}  // namespace launch::agent_stop_text_test

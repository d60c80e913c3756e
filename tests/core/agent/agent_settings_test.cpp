#include "launch/core/agent/agent_settings.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace launch::agent_settings_test {

using namespace std::chrono_literals;

TEST(AgentSettings, AreThoseOfTheUser) {
  Config config;
  config.meeting = StaticChoice{{"n0", 29500}, 3, NodeRank(2)};
  config.nproc_per_node = 4;
  config.hostname = "h";
  config.shutdown_timeout = 5s;
  config.kill_grace = 6s;
  config.restarts.max_restarts = 7;
  config.hooks = {"true", "", 8s};
  config.evidence.states = true;
  const AgentSettings settings = agent_settings(config);
  EXPECT_EQ(settings.nnodes, 3);
  EXPECT_EQ(settings.node_rank, NodeRank(2));
  EXPECT_EQ(settings.nproc, 4);
  EXPECT_EQ(settings.host, "h");
  EXPECT_EQ(settings.shutdown_timeout, 5s);
  EXPECT_EQ(settings.kill_grace, 6s);
  EXPECT_EQ(settings.restarts.max_restarts, 7);
  EXPECT_EQ(settings.hook_timeout, 8s);
  EXPECT_FALSE(settings.after_hook);
  config.hooks.after = "true";
  EXPECT_TRUE(agent_settings(config).after_hook);
  EXPECT_TRUE(settings.evidence);
  EXPECT_FALSE(settings.stacks);
  EXPECT_FALSE(settings.leaves);
}

TEST(AgentSettings, AnAlarmIsForLaunchAlone) {
  const std::vector<int> usual{SIGINT, SIGTERM};
  EXPECT_EQ(signal_for_workers(SIGALRM, usual), SIGTERM);
  EXPECT_EQ(signal_for_workers(SIGINT, usual), SIGINT);
  EXPECT_EQ(signal_for_workers(SIGALRM, {SIGALRM}), SIGALRM) << "unless the user chose it";
}

}  // namespace launch::agent_settings_test

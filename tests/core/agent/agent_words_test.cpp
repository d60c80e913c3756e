#include "launch/core/agent/agent_words.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace launch::agent_words_test {

using namespace std::chrono_literals;

TEST(AgentWords, ASignalThatStopsTheJob) {
  EXPECT_EQ(stop_words({SIGTERM, "from pid 7", false, false, true}, 3s), "received SIGTERM from pid 7, stopping");
  EXPECT_EQ(stop_words({SIGINT, "", false, false, false}, 3s), "received SIGINT, stopping");
  EXPECT_EQ(stop_words({SIGINT, "", false, false, true}, 3s),
            "received SIGINT, stopping (again: the workers get 3 s at most; a third time: they are killed)");
  EXPECT_EQ(stop_words({SIGINT, "", true, false, false}, 3s), "received SIGINT: the workers get 3 s at most");
  EXPECT_EQ(stop_words({SIGINT, "", true, true, false}, 3s), "received SIGINT: killing the workers");
}

TEST(AgentWords, ASignalWhileTheAfterHookRuns) {
  const std::string hook = "the command of --after-workers";
  EXPECT_EQ(stop_words({SIGTERM, "from pid 7", false, false, false, true}, 3s),
            "received SIGTERM from pid 7: " + hook + " goes on");
  EXPECT_EQ(stop_words({SIGINT, "", false, false, false, true}, 3s),
            "received SIGINT: " + hook + " goes on (again: it gets 3 s at most; a third time: it is killed)");
  EXPECT_EQ(stop_words({SIGINT, "", true, false, false, true}, 3s), "received SIGINT: " + hook + " gets 3 s at most");
  EXPECT_EQ(stop_words({SIGINT, "", true, true, false, true}, 3s), "received SIGINT: killing " + hook);
}

TEST(AgentWords, WhoseStoreIsLost) {
  EXPECT_EQ(lost_store_words({"reset"}, true),
            "lost contact with the store of node 0 (reset); the workers cannot go on without it");
  EXPECT_EQ(lost_store_words({"reset"}, false),
            "lost contact with the job's store (reset); the workers cannot go on without it");
  StoreLost frozen{"reset"};
  frozen.stood_still = 9s;
  EXPECT_EQ(lost_store_words(frozen, true),
            "this launch was frozen for 9 s, and the other nodes went on without it (reset)");
}

TEST(AgentWords, WhyANodeMustStay) {
  EXPECT_EQ(needed_words(true, true, true), std::nullopt);
  EXPECT_EQ(needed_words(true, true, false), "--max-membership-restarts is used up: the job would end");
  EXPECT_EQ(needed_words(true, false, true), "this node hosts the job's store, which the others need");
  EXPECT_EQ(needed_words(false, false, true),
            "the others cannot go on without a node: that needs c10d and --nnodes=MIN:MAX");
}

}  // namespace launch::agent_words_test

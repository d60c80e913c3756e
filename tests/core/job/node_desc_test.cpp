#include "launch/core/job/node_desc.hpp"

#include <gtest/gtest.h>

namespace launch::node_desc_test {

TEST(NodeDesc, IsSortedAsTorchrunSorts) {
  EXPECT_LT((NodeDesc{"a", 9, 9}), (NodeDesc{"b", 1, 1}));
  EXPECT_LT((NodeDesc{"a", 2, 9}), (NodeDesc{"a", 10, 1})) << "numbers, not text";
  EXPECT_LT((NodeDesc{"a", 2, 1}), (NodeDesc{"a", 2, 2}));
}

TEST(NodeDesc, TellsAgentsOfLaunchFromThoseOfTorchrun) {
  EXPECT_TRUE(is_launch({"a", 1, launch_local_id}));
  EXPECT_FALSE(is_launch({"a", 1, 0}));
}

TEST(NodeDesc, InWordsNothingReachesATerminalAsItCame) {
  EXPECT_EQ(to_text(NodeDesc{"n1", 42, 0}), "n1 (pid 42)");
  EXPECT_EQ(to_text(NodeDesc{"n\x1b[1m", 42, 0}).find('\x1b'), std::string::npos);
}

}  // namespace launch::node_desc_test

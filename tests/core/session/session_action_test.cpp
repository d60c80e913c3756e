#include "launch/core/session/session_action.hpp"

#include <gtest/gtest.h>

namespace launch::session_action_test {

TEST(SessionAction, WhatIsLeftOutOfAPreparedStoreBelongsToStaticJobs) {
  const PrepareStore elastic{std::chrono::seconds(30)};
  EXPECT_EQ(elastic.nnodes, 0);
  EXPECT_TRUE(elastic.agent_keys.empty());
}

}  // namespace launch::session_action_test

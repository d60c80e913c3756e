#include "launch/core/session/session_action.hpp"

#include <gtest/gtest.h>

namespace launch::session_action_test {

TEST(SessionAction, WhatIsLeftOutOfAPreparedStoreBelongsToStaticJobs) {
  const PrepareStore elastic{std::chrono::seconds(30)};
  EXPECT_EQ(elastic.nnodes, 0);
  EXPECT_TRUE(elastic.agent_keys.empty());
}

TEST(SessionAction, StepsInWords) {
  const Error refused{ErrorCode::system, "no answer at n0:29500: Connection refused"};
  EXPECT_EQ(to_text(AnswerValue(Opened{1, {}, {"10.0.0.1", 29500}, "10.0.0.2"})),
            "connected to the store at 10.0.0.1:29500 as 10.0.0.2");
  EXPECT_EQ(to_text(AnswerValue(Opened{1, refused, {}, {}})), refused.message);
  EXPECT_EQ(to_text(AnswerValue(Listening{{}, 29500, false})), "this node hosts a store at port 29500");
  EXPECT_EQ(to_text(AnswerValue(Listening{refused, 0, false})), refused.message);
  EXPECT_EQ(to_text(AnswerValue(true)), "");
}

}  // namespace launch::session_action_test

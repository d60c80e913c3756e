#include "launch/core/progress/progress_text.hpp"

#include <gtest/gtest.h>

namespace launch::progress_text_test {
namespace {

TEST(ProgressText, Steps) {
  EXPECT_EQ("step 1200, 9.9/s", step_text(1200, 9.93));
  EXPECT_EQ("step 1200", step_text(1200, std::nullopt));
  EXPECT_EQ("step 0.25, 0.012/s", step_text(0.25, 0.0123));
  EXPECT_EQ("step 3, 1234/s", step_text(3, 1234.4));
  EXPECT_EQ("1200000", number_text(1.2e6));
}

TEST(ProgressText, WhoIsBehind) {
  EXPECT_EQ("", spread_text({}));
  EXPECT_EQ("", spread_text({{0, 5}, {1, 5}}));
  EXPECT_EQ("steps 1180 to 1200; behind: rank 7", spread_text({{0, 1200}, {7, 1180}, {3, 1190}}));
  EXPECT_EQ("steps 1 to 2; behind: ranks 1-2", spread_text({{2, 1}, {0, 2}, {1, 1}}));
}

}  // namespace
}  // namespace launch::progress_text_test

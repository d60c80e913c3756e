#include "launch/core/progress/progress_text.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace launch::progress_text_test {
namespace {

TEST(ProgressText, Steps) {
  EXPECT_EQ("step 1200, 9.9/s", step_text(1200, 9.93));
  EXPECT_EQ("step 1200", step_text(1200, std::nullopt));
  EXPECT_EQ("step 0.25, 0.012/s", step_text(0.25, 0.0123));
  EXPECT_EQ("step 3, 1234/s", step_text(3, 1234.4));
  EXPECT_EQ("1200000", number_text(1.2e6));
  EXPECT_EQ("12346", number_text(12345.6));
  EXPECT_EQ("10000", number_text(9999.6));
  EXPECT_EQ("9999", number_text(9999.4));
}

TEST(ProgressText, ARateIsAPlainNumber) {
  const std::pair<double, const char*> cases[] = {{1234.4, "1234/s"},
                                                  {100, "100/s"},
                                                  {99.9, "100/s"},
                                                  {99.5, "100/s"},
                                                  {99.4, "99/s"},
                                                  {10, "10/s"},
                                                  {9.96, "10/s"},
                                                  {0.0123, "0.012/s"},
                                                  {0.0001, "0.0001/s"},
                                                  {0.00005, "0.00005/s"},
                                                  {1.26e-6, "0.0000013/s"},
                                                  {1e-20, "0/s"},
                                                  {0, "0/s"}};
  for (const auto& [rate, text] : cases) EXPECT_EQ(text, rate_text(rate)) << rate;
}

TEST(ProgressText, WhoIsBehind) {
  EXPECT_EQ("", spread_text({}));
  EXPECT_EQ("", spread_text({{0, 5}, {1, 5}}));
  EXPECT_EQ("steps 1180 to 1200; behind: rank 7", spread_text({{0, 1200}, {7, 1180}, {3, 1190}}));
  EXPECT_EQ("steps 1 to 2; behind: ranks 1-2", spread_text({{2, 1}, {0, 2}, {1, 1}}));
}

// Nodes are not asked at the same moment.
TEST(ProgressText, WhoSeemsToBeBehindOnlyBecauseOfTheMoment) {
  const auto spread = [](const RankStep& first, double step) { return spread_text({first, {1, step, 4, 1.2, 5}}); };
  constexpr double just_now = looks_apart_s / 2;
  EXPECT_EQ("", spread({0, 3150, 3.9, just_now, 5}, 3145));
  EXPECT_EQ("", spread({0, 3150, 100, just_now, 1}, 3060));
  EXPECT_EQ("steps 3135 to 3150; behind: rank 1", spread({0, 3150, 3.9, just_now, 5}, 3135));
  EXPECT_EQ("steps 3145 to 3150; behind: rank 1", spread({0, 3150, 3.9, 2 * looks_apart_s, 5}, 3145));
  EXPECT_EQ("steps 3145 to 3150; behind: rank 1", spread({0, 3150, {}, {}, 5}, 3145));
  EXPECT_EQ("steps 3145 to 3150; behind: rank 1",
            spread_text({{0, 3150, 3.9, just_now, 5}, {1, 3145}, {2, 3150, 3.9, 2 * looks_apart_s, 5}}));
}

}  // namespace
}  // namespace launch::progress_text_test

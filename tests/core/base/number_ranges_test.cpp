#include "launch/core/base/number_ranges.hpp"

#include <gtest/gtest.h>

namespace launch::number_ranges_test {

TEST(NumberRanges, FoldNeighbours) {
  EXPECT_EQ(as_ranges({0, 1, 2, 4, 6, 7}), "0-2, 4, 6-7");
  EXPECT_EQ(as_ranges({}), "");
}

TEST(NumberRanges, AreReadBack) {
  EXPECT_EQ(from_ranges("0-2, 4,6-7"), (std::vector<int>{0, 1, 2, 4, 6, 7}));
  EXPECT_EQ(from_ranges("3, 1, 3"), (std::vector<int>{1, 3}));
  for (const char* none : {"", "x", "-", "-1", "2-1", "1-", ","}) EXPECT_TRUE(from_ranges(none).empty()) << none;
  std::string often = "0-999999999";
  for (int i = 0; i < 1000; ++i) often += ",0-999999999";
  EXPECT_EQ(from_ranges(often).size(), 1'000'000U);
}

TEST(NumberRanges, InWords) {
  EXPECT_EQ("rank 7", ranges_in_words("rank", {7}));
  EXPECT_EQ("nodes 0-3, 7", ranges_in_words("node", {0, 1, 2, 3, 7}));
  EXPECT_EQ("ranks 1, 3, ...", ranges_in_words("rank", {1, 3, 5, 7}, 5));
}

}  // namespace launch::number_ranges_test

#include "launch/io/shown_ranks.hpp"

#include <gtest/gtest.h>

namespace launch::shown_ranks_test {
namespace {

TEST(ShownRanks, ShowsAllOrThoseThatAreNamed) {
  ShownRanks ranks(3, {});
  for (const int rank : {0, 1, 2, 7}) EXPECT_TRUE(ranks.has(LocalRank(rank)));
  ranks.show({1, 9});
  EXPECT_FALSE(ranks.has(LocalRank(0)));
  EXPECT_TRUE(ranks.has(LocalRank(1)));
  EXPECT_FALSE(ranks.has(LocalRank(2)));
  ranks.show({});
  EXPECT_TRUE(ranks.has(LocalRank(0)));
  EXPECT_FALSE(ShownRanks(2, {0}).has(LocalRank(1)));
}

}  // namespace
}  // namespace launch::shown_ranks_test

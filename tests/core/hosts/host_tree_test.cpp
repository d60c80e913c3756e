#include "launch/core/hosts/host_tree.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_tree_test {

using testing::Each;

int children_of(const std::vector<int>& starters, int node) {
  return static_cast<int>(std::count(starters.begin(), starters.end(), node));
}

TEST(HostTree, AFewWindowsAreStartedByTheHeadAlone) {
  EXPECT_THAT(starters_of(1, 64), Each(started_by_head));
  EXPECT_THAT(starters_of(256, 64), Each(started_by_head));
  EXPECT_THAT(starters_of(32, 8), Each(started_by_head));
}

TEST(HostTree, OthersAreDealtOutToThoseThatTheHeadStarts) {
  struct Case {
    int hosts, fanout, first, most_children;
  };
  for (const auto& [hosts, fanout, first, most_children] :
       {Case{257, 64, 64, 4}, {200, 8, 15, 13}, {33, 8, 8, 4}, {1'000, 64, 64, 15}, {10'000, 64, 100, 99}}) {
    const auto starters = starters_of(hosts, fanout);
    EXPECT_EQ(children_of(starters, started_by_head), first) << hosts;
    for (int node = 0; node < hosts; ++node) {
      const int children = children_of(starters, node);
      EXPECT_GE(children, node < first ? most_children - 1 : 0) << "all have as much to do";
      EXPECT_LE(children, node < first ? most_children : 0) << "two levels";
    }
  }
}

}  // namespace launch::host_tree_test

#include "launch/core/hosts/host_tree.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::host_tree_test {

using testing::Each;

// How many each starts: the head first, then the nodes.
std::vector<int> children_of(const std::vector<int>& starters) {
  std::vector<int> children(starters.size() + 1);
  for (const int starter : starters)
    ++children.at(starter == started_by_head ? 0 : static_cast<std::size_t>(starter) + 1);
  return children;
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
    const auto counts = children_of(starters);
    EXPECT_EQ(counts.front(), first) << hosts;
    for (int node = 0; node < hosts; ++node) {
      const int children = counts.at(static_cast<std::size_t>(node) + 1);
      EXPECT_GE(children, node < first ? most_children - 1 : 0) << "all have as much to do";
      EXPECT_LE(children, node < first ? most_children : 0) << "two levels";
    }
  }
}

}  // namespace launch::host_tree_test

#include "launch/core/cluster/rank_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::rank_map_test {

using testing::HasSubstr;

// As Hydra, MPICH and Slurm have written them.
TEST(RankMap, TellsTheNodeOfARank) {
  const auto of = [](std::string_view map, int task, int tasks) {
    const auto found = place_by_map(map, task, tasks);
    if (!found) return std::vector<int>{};
    const TaskPlace& place = found->place;
    return std::vector{place.node.value, place.local_task, place.local_tasks, place.nodes, found->rank};
  };
  EXPECT_EQ(of("(vector,(0,3,2))", 4, 6), (std::vector{2, 0, 2, 3, 4}));
  EXPECT_EQ(of("(vector,(0,2,2),(2,1,1))", 4, 5), (std::vector{2, 0, 1, 3, 4}));
  EXPECT_EQ(of("(vector,(0,1,3),(1,2,1))", 3, 5), (std::vector{1, 0, 1, 3, 3}));
  EXPECT_EQ(of("(vector,(0,2,1),(0,2,1))", 2, 4), (std::vector{0, 1, 2, 2, 1})) << "dealt round";
  EXPECT_EQ(of("(vector,(0,2,1))", 1, 4), (std::vector{1, 0, 2, 2, 2})) << "from the beginning again";
  EXPECT_EQ(of("(vector,(5,1,2))", 1, 2), (std::vector{0, 1, 2, 1, 1})) << "counted from 0";
  // MPICH 5 has shorter words.
  EXPECT_EQ(of("(vector,(0,3,2),3)", 6, 7), (std::vector{3, 0, 1, 4, 6}));
  EXPECT_EQ(of("(vector,[(0,2,1)]x2)", 2, 4), (std::vector{0, 1, 2, 2, 1}));
  EXPECT_EQ(of("(vector,(0,2,1),0)", 2, 3), (std::vector{0, 1, 2, 2, 1}));
  EXPECT_EQ(of("(vector,0,(1,1,2),2,(3,1,3))", 6, 7), (std::vector{3, 2, 3, 4, 6}));
  EXPECT_EQ(of("(vector,0)", 0, 1), (std::vector{0, 0, 1, 1, 0}));
  EXPECT_EQ(of("(vector,[0,(1,2,1)]x2,3)", 6, 7), (std::vector{3, 0, 1, 4, 6}));
}

TEST(RankMap, OfHosts) {
  EXPECT_EQ(map_of_hosts({}), "");
  EXPECT_EQ(map_of_hosts({"n1", "n1", "n2", "n2", "n3"}), "(vector,(0,2,2),(2,1,1))");
  EXPECT_EQ(map_of_hosts({"n1", "n2", "n1", "n2"}), "(vector,(0,2,1),(0,2,1))");
  EXPECT_EQ(map_of_hosts({"n1", "n2", "n2", "n1"}), "(vector,(0,1,1),(1,1,2),(0,1,1))");
}

TEST(RankMap, OfMoreThanThereIsCostsNoTime) {
  EXPECT_EQ(place_by_map("(vector,[(0,100000,1)]x100000)", 1, 2)->place.node, NodeRank(1));
}

TEST(RankMap, ThatIsNonsense) {
  for (const char* map : {"",
                          "(vector)",
                          "(vector,",
                          "(vector,)",
                          "(vector,(0,1))",
                          "(vector,(0,0,1))",
                          "(vector,(0,1,0))",
                          "(vector,(-1,1,1))",
                          "(vector,(0,1,1)",
                          "(vector,(0,1,1)x)",
                          "(vector,(0,999999999,1))",
                          "(vector,-1)",
                          "(vector,[0)",
                          "(vector,[0])",
                          "(vector,[0]x0)",
                          "(vector,[]x2)",
                          "(vector,[0]x100001)",
                          "(vector,[[0]x2]x2)",
                          "(vector,99999999999)",
                          "x"})
    EXPECT_THAT(place_by_map(map, 0, 1).error().message, HasSubstr("map of ranks")) << map;
}

}  // namespace launch::rank_map_test

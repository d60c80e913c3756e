#include "launch/core/job/ranks.hpp"

#include "launch/core/base/random.hpp"

#include <gtest/gtest.h>

namespace launch::ranks_test {

TEST(Ranks, EqualNodesCountOn) {
  const auto result = assign_ranks({{NodeRank(0), "default", 2}, {NodeRank(1), "default", 2}});
  EXPECT_EQ(result[0], (Assignment{.group_world_size = 2, .world_size = 4, .role_world_size = 4}));
  EXPECT_EQ(result[1], (Assignment{.group_rank = NodeRank(1),
                                   .group_world_size = 2,
                                   .base_global_rank = GlobalRank(2),
                                   .world_size = 4,
                                   .base_role_rank = 2,
                                   .role_world_size = 4}));
}

TEST(Ranks, UnequalNodesAreCumulative) {
  const auto result =
      assign_ranks({{NodeRank(0), "default", 3}, {NodeRank(1), "default", 1}, {NodeRank(2), "default", 2}});
  EXPECT_EQ(result[1].base_global_rank, GlobalRank(3));
  EXPECT_EQ(result[2].base_global_rank, GlobalRank(4));
  EXPECT_EQ(result[2].world_size, 6);
}

TEST(Ranks, RolesCountTheirOwn) {
  const auto result = assign_ranks({{NodeRank(0), "a", 2}, {NodeRank(1), "b", 1}, {NodeRank(2), "a", 3}});
  EXPECT_EQ(result[2], (Assignment{.group_rank = NodeRank(2),
                                   .group_world_size = 3,
                                   .base_global_rank = GlobalRank(3),
                                   .world_size = 6,
                                   .base_role_rank = 2,
                                   .role_world_size = 5}));
  EXPECT_EQ(result[1], (Assignment{.group_rank = NodeRank(1),
                                   .group_world_size = 3,
                                   .base_global_rank = GlobalRank(2),
                                   .world_size = 6,
                                   .role_world_size = 1}));
}

TEST(Ranks, BasesAndSizesAddUpForRandomJobs) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Member> members;
    int sum = 0;
    for (int node = 0; node < 1 + static_cast<int>(random.next() % 20); ++node) {
      members.push_back({NodeRank(node), random.next() % 2 == 0 ? "a" : "b", 1 + static_cast<int>(random.next() % 8)});
      sum += members.back().local_world_size;
    }
    int next = 0;
    const auto result = assign_ranks(members);
    for (std::size_t i = 0; i < members.size(); ++i) {
      ASSERT_EQ(result[i].base_global_rank, GlobalRank(next));
      ASSERT_EQ(result[i].world_size, sum);
      ASSERT_LE(result[i].base_role_rank + members[i].local_world_size, result[i].role_world_size);
      next += members[i].local_world_size;
    }
  }
}

TEST(Ranks, MemberIsWrittenAsTorchrunWritesIt) {
  EXPECT_EQ(to_json(Member{NodeRank(1), "default", 2}), R"({"role": "default", "rank": 1, "local_world_size": 2})");
  EXPECT_EQ(*parse_member(to_json(Member{NodeRank(1), "ro\"le\n", 2})), (Member{NodeRank(1), "ro\"le\n", 2}));
}

TEST(Ranks, MemberWithOtherSpacingAndOrderIsRead) {
  EXPECT_EQ(*parse_member("{\"local_world_size\":4,\n\"rank\":3,\"role\":\"x\",\"more\":[]}"),
            (Member{NodeRank(3), "x", 4}));
}

TEST(Ranks, MalformedMembersAreRefused) {
  for (const char* text :
       {"", "[]", "{", "{}", R"({"role": 1, "rank": 0, "local_world_size": 2})",
        R"({"role": "a", "rank": -1, "local_world_size": 2})", R"({"role": "a", "rank": 0, "local_world_size": 0})",
        R"({"role": "a", "rank": 0, "local_world_size": 1.5})",
        R"({"role": "a", "rank": 0, "local_world_size": 99999999999})"})
    EXPECT_EQ(parse_member(text).error().code, ErrorCode::protocol) << text;
}

TEST(Ranks, AssignmentRoundTrips) {
  EXPECT_EQ(to_json(Assignment{.group_rank = NodeRank(1),
                               .group_world_size = 2,
                               .base_global_rank = GlobalRank(2),
                               .world_size = 4,
                               .base_role_rank = 1,
                               .role_world_size = 3}),
            "[2, 4, 1, 3]");
  EXPECT_EQ(
      *parse_assignment("[2,4,1,3]"),
      (Assignment{.base_global_rank = GlobalRank(2), .world_size = 4, .base_role_rank = 1, .role_world_size = 3}));
  for (const char* text : {"", "{}", "[1,2,3]", "[1,2,3,4,5]", "[1,2,3,\"4\"]", "[1,2,3,-4]"})
    EXPECT_FALSE(parse_assignment(text)) << text;
}

}  // namespace launch::ranks_test

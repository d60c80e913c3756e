#include "launch/core/c10d/formed_round.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace launch::formed_round_test {

const NodeDesc first{"n1", 10, launch_local_id};
const NodeDesc second{"n2", 20, launch_local_id};
const NodeDesc foreign{"n3", 30, 0};

Attendance with(Member member, int restarts = 0) {
  Attendance said;
  said.member = std::move(member);
  said.restarts = restarts;
  return said;
}

TEST(FormedRound, EveryMemberLearnsItsRanks) {
  const Attendance small = with({NodeRank(7), "trainer", 2});
  const Attendance large = with({NodeRank(9), "trainer", 4});
  const FormedRound round(3, {second, first}, [&](const NodeDesc& node) { return node == first ? &large : &small; });
  const RoundFormed news = round.news_for(first);
  EXPECT_EQ(news, (RoundFormed{.round = 3,
                               .rank = NodeRank(1),
                               .nnodes = 2,
                               .leader = second,
                               .assignment = Assignment{.group_rank = NodeRank(1),
                                                        .group_world_size = 2,
                                                        .base_global_rank = GlobalRank(2),
                                                        .world_size = 6,
                                                        .base_role_rank = 2,
                                                        .role_world_size = 6}}));
  EXPECT_EQ(round.news_for(second).assignment,
            (Assignment{.group_world_size = 2, .world_size = 6, .role_world_size = 6}));
  EXPECT_FALSE(round.is_mixed());
}

TEST(FormedRound, WhereTorchrunIsInItTheRanksOfWorkersAreToBeExchanged) {
  const Attendance member = with({NodeRank(0), "default", 2});
  const FormedRound round(0, {first, foreign}, [&](const NodeDesc& node) { return node == first ? &member : nullptr; });
  EXPECT_EQ(round.news_for(first), (RoundFormed{.nnodes = 2, .leader = first, .torchrun = {NodeRank(1)}}));
  EXPECT_TRUE(round.is_mixed());
  EXPECT_EQ(round.ranks().at(foreign), 1);
}

TEST(FormedRound, EveryMemberLearnsTheMostRestartsThatOneKnowsOf) {
  const Attendance fresh = with({NodeRank(0), "default", 2});
  const Attendance old = with({NodeRank(0), "default", 2}, 3);
  const FormedRound round(0, {first, second, foreign}, [&](const NodeDesc& node) -> const Attendance* {
    if (node == foreign) return nullptr;
    return node == first ? &fresh : &old;
  });
  EXPECT_EQ(round.news_for(first).restarts, 3) << "whose store took the place of one that was lost";
  EXPECT_EQ(round.news_for(second).restarts, 3);
}

TEST(FormedRound, WhoDepartsAndDoesNotComeBackIsKnown) {
  FormedRound round(0, {first, second}, [](const NodeDesc&) { return nullptr; });
  round.depart(first);
  round.depart(second);
  round.come_back(first);
  EXPECT_EQ(round.departed(), std::set<NodeDesc>{second});
  EXPECT_EQ(round.take_departed(), std::set<NodeDesc>{second});
  EXPECT_TRUE(round.departed().empty());
}

}  // namespace launch::formed_round_test

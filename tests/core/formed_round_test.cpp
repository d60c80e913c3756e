#include "launch/core/formed_round.hpp"

#include <gtest/gtest.h>

namespace launch::formed_round_test {

const NodeDesc first{"n1", 10, launch_local_id};
const NodeDesc second{"n2", 20, launch_local_id};
const NodeDesc foreign{"n3", 30, 0};

TEST(FormedRound, EveryMemberLearnsItsRanks) {
  const Member small{7, "trainer", 2};
  const Member large{9, "trainer", 4};
  const FormedRound round(3, {second, first}, [&](const NodeDesc& node) { return node == first ? &large : &small; });
  const RoundFormed news = round.news_for(first);
  EXPECT_EQ(news, (RoundFormed{3, 1, 2, second, {}, Assignment{1, 2, 2, 6, 2, 6}}));
  EXPECT_EQ(round.news_for(second).assignment, (Assignment{0, 2, 0, 6, 0, 6}));
  EXPECT_FALSE(round.is_mixed());
}

TEST(FormedRound, WhereTorchrunIsInItTheRanksOfWorkersAreToBeExchanged) {
  const Member member{0, "default", 2};
  const FormedRound round(0, {first, foreign}, [&](const NodeDesc& node) { return node == first ? &member : nullptr; });
  EXPECT_EQ(round.news_for(first), (RoundFormed{0, 0, 2, first, {1}, std::nullopt}));
  EXPECT_TRUE(round.is_mixed());
  EXPECT_EQ(round.ranks().at(foreign), 1);
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

#include "launch/core/job/rank.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace launch::rank_test {

template <class From, class To>
constexpr bool becomes = std::is_constructible_v<To, From> || std::is_assignable_v<To&, From>;

template <class A, class B>
constexpr bool comparable = requires(A a, B b) {
  a == b;
};

template <class A, class B>
constexpr bool addable = requires(A a, B b) {
  a + b;
};

TEST(Rank, NoneBecomesAnotherOrIsComparedWithIt) {
  static_assert(!becomes<NodeRank, LocalRank> && !becomes<NodeRank, GlobalRank>);
  static_assert(!becomes<LocalRank, NodeRank> && !becomes<LocalRank, GlobalRank>);
  static_assert(!becomes<GlobalRank, NodeRank> && !becomes<GlobalRank, LocalRank>);
  static_assert(!comparable<NodeRank, LocalRank> && !comparable<LocalRank, GlobalRank>);
  static_assert(comparable<NodeRank, NodeRank>);
}

TEST(Rank, ANumberBecomesOneOnlyByName) {
  static_assert(!std::is_convertible_v<int, NodeRank> && !std::is_convertible_v<NodeRank, int>);
  static_assert(!std::is_assignable_v<NodeRank&, int> && !comparable<NodeRank, int>);
  static_assert(std::is_constructible_v<NodeRank, int>);
}

TEST(Rank, OnlyABaseAndALocalRankAddUp) {
  static_assert(!addable<NodeRank, LocalRank> && !addable<LocalRank, LocalRank> && !addable<GlobalRank, int>);
  EXPECT_EQ(GlobalRank(6) + LocalRank(1), GlobalRank(7));
}

TEST(Rank, IsOrderedAndKnownUnlessItIsNone) {
  EXPECT_LT(LocalRank(1), LocalRank(2));
  EXPECT_EQ(NodeRank(), NodeRank(0));
  EXPECT_TRUE(NodeRank(0).known());
  EXPECT_FALSE(NodeRank::none().known());
  EXPECT_EQ(LocalRank(3).index(), 3U);
}

}  // namespace launch::rank_test

#include "launch/core/hosts/network_check.hpp"

#include <gtest/gtest.h>

#include <set>

namespace launch::network_check_test {

using Rows = std::vector<CheckRow>;
using enum CheckLevel;

std::vector<PairPlace> places_of(int count, int addresses = 1) {
  std::vector<PairPlace> places;
  for (int i = 0; i < count; ++i) {
    places.push_back({i, "h" + std::to_string(i), {}, static_cast<std::uint16_t>(4000 + i), "t" + std::to_string(i)});
    for (int k = 0; k < addresses; ++k)
      places.back().addresses.push_back("10." + std::to_string(k) + ".0." + std::to_string(i));
  }
  return places;
}

std::vector<std::string> names_of(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("n" + std::to_string(i));
  return names;
}

std::set<int> tried(const std::vector<PairTry>& tries) {
  std::set<int> nodes;
  for (const PairTry& one : tries)
    if (!one.by_name) nodes.insert(one.node);
  return nodes;
}

TEST(NetworkCheck, FewHostsTryAllOthers) {
  EXPECT_EQ(tried(tries_of(1, places_of(3))), (std::set<int>{0, 2}));
  const auto tries = tries_of(0, places_of(2, 2));
  ASSERT_EQ(tries.size(), 2U);
  EXPECT_EQ(tries[1].target, (ReachTarget{"10.1.0.1", 4001, "t1"}));
  EXPECT_EQ(question_of(tries).targets.size(), 2U);
  EXPECT_EQ(tried(tries_of(31, places_of(32))).size(), 31U);
  EXPECT_TRUE(tries_of(0, places_of(1)).empty());
}

TEST(NetworkCheck, ManyHostsTryThoseThatFollowAndNodeZero) {
  const auto tries = tried(tries_of(30, places_of(40)));
  EXPECT_EQ(tries.size(), 16U) << "the ring leads to node 0";
  EXPECT_EQ(*tries.rbegin(), 39);
  EXPECT_TRUE(tries.contains(6) && tries.contains(0));
  const auto more = tried(tries_of(2, places_of(40)));
  EXPECT_EQ(more.size(), 17U);
  EXPECT_TRUE(more.contains(0) && more.contains(3) && more.contains(18));
  EXPECT_EQ(tried(tries_of(0, places_of(40))).size(), 16U);
}

TEST(NetworkCheck, AQuestionIsNotLongerThanAHostTakes) {
  for (const int count : {32, 33, 1000})
    for (const int from : {0, 1, count - 1})
      EXPECT_LE(tries_of(static_cast<std::size_t>(from), places_of(count, 50)).size(), most_reach_targets);
}

TEST(NetworkCheck, TheNameOfNodeZeroIsTriedByTheOthers) {
  const auto tries = tries_of(2, places_of(3));
  EXPECT_TRUE(tries.back().by_name);
  EXPECT_EQ(tries.back().target, (ReachTarget{"h0", 4000, "t0"}));
  EXPECT_EQ(check_pairs(2, tries, {{"", "", "Host not found"}}, names_of(3)),
            (Rows{{2, "network", ok, "reaches 2 other hosts"},
                  {2, "name", warning, "does not reach n0 by its own name h0: Host not found"}}));
  for (const PairTry& one : tries_of(0, places_of(3))) EXPECT_FALSE(one.by_name);
}

TEST(NetworkCheck, AHostIsReachedIfOneOfItsAddressesIs) {
  const auto tries = tries_of(0, places_of(2, 3));
  EXPECT_EQ(check_pairs(0, tries, {{"refused", "", "refused"}}, names_of(2)),
            (Rows{{0, "network", ok, "reaches the other host"}}));
  EXPECT_EQ(
      check_pairs(0, tries, {{"refused", "no way", "no way"}}, names_of(2)),
      (Rows{{0, "network", fault, "does not reach n1 at 10.0.0.1 port 4001, nor at 2 other addresses: refused"}}));
  EXPECT_EQ(reached_addresses(1, tries, {{"refused", "", ""}}), (std::vector<std::string>{"10.1.0.1", "10.2.0.1"}));
  EXPECT_TRUE(reached_addresses(0, tries, {{"", "", ""}}).empty());
}

TEST(NetworkCheck, HostsThatAreNotReachedForOneReasonShareARow) {
  const auto tries = tries_of(3, places_of(4));  // and the name of node 0, which says nothing if it is not reached
  EXPECT_EQ(check_pairs(3, tries, {{"no answer", "no answer", "refused", "no answer"}}, names_of(4)),
            (Rows{{3, "network", fault, "does not reach n[0-1]: no answer"},
                  {3, "network", fault, "does not reach n2 at 10.0.0.2 port 4002: refused"}}));
  EXPECT_EQ(check_pairs(3, tries, {{"", ""}}, names_of(4)).front().level, fault) << "an answer that is too short";
}

}  // namespace launch::network_check_test

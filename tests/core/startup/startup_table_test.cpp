#include "launch/core/startup/startup_table.hpp"

#include "startups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::startup_table_test {

using testing::ElementsAre;
using testing::Optional;

using Ranks = std::vector<std::optional<int>>;

StartupNode node(int rank, std::vector<std::string> addresses, const std::vector<std::pair<int, int>>& ranks_and_pids) {
  StartupNode one{rank, "n" + std::to_string(rank), std::move(addresses), {}};
  for (const auto& [worker, pid] : ranks_and_pids) one.workers.push_back({worker, {pid}, 10.0, {}, {}});
  return one;
}

TEST(StartupTable, AClientIsFoundByItsAddressAndItsPid) {
  StartupFacts facts;
  facts.world_size = 3;
  facts.store_node = 0;
  facts.nodes = {node(0, {"10.0.0.1"}, {{0, 20}}), node(1, {"10.0.0.2", "fd00::2"}, {{1, 20}, {2, 21}})};
  facts.nodes[1].workers[1].pids = {21, 33, 34};  // a wrapper and what it has started
  facts.clients = {{"10.0.0.1", true, 20, 3}, {"127.0.0.1", true, 20, 3}, {"10.0.0.2", false, 20, 3},
                   {"fd00::2", false, 34, 3}, {"10.0.0.2", false, 99, 3}, {"10.0.0.9", false, 20, 3}};
  EXPECT_EQ((Ranks{0, 0, 1, 2, std::nullopt, std::nullopt}), ranks_of_clients(facts));
}

TEST(StartupTable, NodesOfOneHostHaveItsAddressesAndTheirOwnPids) {
  StartupFacts facts;
  facts.store_node = 0;
  facts.nodes = {node(0, {"10.0.0.1"}, {{0, 20}}), node(1, {"10.0.0.1"}, {{1, 21}}),
                 node(2, {"172.17.0.2"}, {{2, 21}})};
  facts.clients = {{"127.0.0.1", true, 20, 3}, {"127.0.0.1", true, 21, 3}, {"172.17.0.2", false, 21, 3}};
  EXPECT_EQ((Ranks{0, 1, 2}), ranks_of_clients(facts));
}

TEST(StartupTable, ContainersOnTheHostsNetworkMayHaveEqualPidsAndThenNobodyGuesses) {
  StartupFacts facts;
  facts.world_size = 2;
  facts.store_node = 0;
  facts.nodes = {node(0, {"10.0.0.1"}, {{0, 20}}), node(1, {"10.0.0.1"}, {{1, 20}})};
  facts.clients = {{"127.0.0.1", true, 20, 3}};
  EXPECT_EQ((Ranks{std::nullopt}), ranks_of_clients(facts));
  EXPECT_FALSE(startup_table(facts).formed);
  EXPECT_EQ(1U, startup_table(facts).unplaced);
}

TEST(StartupTable, TheAxisBeginsWithTheFirstExec) {
  const StartupTable table = startup_table(slow_node(2, 2));
  EXPECT_EQ(4, table.world_size);
  EXPECT_THAT(table.hosts, ElementsAre(std::pair(0, "n0"), std::pair(1, "n1")));
  ASSERT_EQ(4U, table.ranks.size());
  EXPECT_THAT(table.now, testing::DoubleNear(20, 1e-9));
  const StartupRank& slow = table.ranks[3];
  EXPECT_EQ(1, slow.node);
  EXPECT_THAT(slow.started, Optional(testing::DoubleNear(0.5, 1e-9)));
  EXPECT_THAT(slow.output, Optional(testing::DoubleNear(12.5, 1e-9)));
  EXPECT_THAT(slow.store, Optional(testing::DoubleNear(14.01, 1e-9)));
  EXPECT_THAT(table.formed, Optional(testing::DoubleNear(14.01, 1e-9)));
  EXPECT_FALSE(slow.step);
  EXPECT_EQ(0U, table.unplaced);
}

TEST(StartupTable, TheSlowestOfAllIsTheFirst) {
  const StartupTable table = startup_table(slow_node(2, 4));
  std::vector<int> slowest;
  for (const StartupRank& rank : slowest_ranks(table, 5)) slowest.push_back(rank.rank);
  EXPECT_THAT(slowest, ElementsAre(7, 6, 5, 4, 3));
  EXPECT_THAT(median_arrival(table.ranks), Optional(testing::DoubleNear(1.33, 1e-9)));
  EXPECT_FALSE(median_arrival({}));
  const auto groups = groups_by_node(table);
  ASSERT_EQ(2U, groups.size());
  EXPECT_EQ(1, groups[0].node);
  EXPECT_EQ(4U, groups[0].ranks.size());
  EXPECT_THAT(groups[0].median, Optional(testing::DoubleNear(14.01, 1e-9)));
}

TEST(StartupTable, WhoHasNotComeIsMissing) {
  StartupFacts facts = slow_node(2, 2);
  facts.clients.erase(facts.clients.begin());  // rank 0
  const StartupTable table = startup_table(facts);
  EXPECT_FALSE(table.formed);
  ASSERT_EQ(1U, missing_ranks_of(table).size());
  EXPECT_EQ(0, missing_ranks_of(table)[0].rank);
  EXPECT_EQ(0, groups_by_node(table)[0].node) << "a node that others wait for comes first";
}

// The user's own script, a process of a worker that has ended: the group has not formed because of them.
TEST(StartupTable, AProcessThatIsNoWorkersIsNotCounted) {
  StartupFacts facts = slow_node(2, 2);
  facts.clients.erase(facts.clients.begin());
  facts.clients.push_back({"10.0.0.1", true, 4711, 2});
  EXPECT_FALSE(startup_table(facts).formed);
  EXPECT_EQ(1U, startup_table(facts).unplaced);
}

// Node 1 is torchrun's, or has not answered in time: its workers are seen, but it is not known which they are.
TEST(StartupTable, TheGroupHasFormedWhenAsManyHaveComeAsThereAreRanks) {
  StartupFacts facts = slow_node(2, 2);
  facts.nodes.pop_back();
  const StartupTable table = startup_table(facts);
  EXPECT_EQ(2U, table.ranks.size());
  EXPECT_EQ(2U, table.unplaced);
  EXPECT_THAT(table.formed, Optional(testing::DoubleNear(14.01, 1e-9)));
}

TEST(StartupTable, NothingIsKnown) {
  const StartupTable table = startup_table({});
  EXPECT_FALSE(table.formed);
  EXPECT_TRUE(table.ranks.empty());
  EXPECT_TRUE(groups_by_node(table).empty());
}

TEST(StartupTable, ManyRanksTakeNoLongTime) {
  const StartupTable table = startup_table(slow_node(1000, 8));
  EXPECT_EQ(8'000U, slowest_ranks(table, 100'000).size());
  EXPECT_TRUE(table.formed);
}

}  // namespace launch::startup_table_test

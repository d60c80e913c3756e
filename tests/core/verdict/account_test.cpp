#include "launch/core/verdict/account.hpp"

#include "worker_ends.hpp"

#include <csignal>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace launch::account_test {

TEST(Account, TellsHowLongBeforeTheFailureWorkersEndedWell) {
  using namespace std::chrono_literals;
  const Time failed_at(100s);
  const auto early = [](int rank, Time at) {
    return WorkerEnd{GlobalRank(rank), LocalRank(rank), {}, false, true, at};
  };
  const Account account = sum_up(
      NodeRank(0), {early(0, Time(96s)), early(1, Time(95'700ms)), early(2, Time(99'500ms)), ended(3, 0)}, failed_at);
  EXPECT_EQ(account.ends, (std::vector<RankGroup>{{"exit code 0", {3}},
                                                  {"exit code 0, 4 s before the failure", {0, 1}},
                                                  {"exit code 0, less than 1 s before the failure", {2}}}));
}

TEST(Account, SurvivesTheWayThroughTheStore) {
  Account account =
      together({sum_up(NodeRank(0), {stopped(0, SIGTERM)}), sum_up(NodeRank(7), {ended(1, 3), stopped(2, SIGKILL)})});
  account.places = {{"in f (x.py:1)", {1, 2}}};
  account.waited = {1, 2};
  account.timed_out = {2};
  account.hosts = {{NodeRank(7), "b", {1, 2}}};
  account.logs = {"node 0 (host a): /l"};
  account.left = {"node 7 (host b): pid 1"};
  account.more_left = 3;
  EXPECT_EQ(*parse_account(to_json(account)), account);
}

TEST(Account, ForeignBytesDoNoHarm) {
  for (const char* text : {"", "{", "[]", "3", "null", "gone"}) EXPECT_FALSE(parse_account(text)) << text;
  const auto odd = parse_account(
      R"({"nodes": "-1, 5-x, 7", "ends": [1, {"what": 3, "ranks": "1"}, {"what": "x\u001b[31m", "ranks": "2-3"}],
          "stopped": "many", "killed": 18446744073709551615, "left": [3], "logs": {}})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->nodes, std::vector<int>{7});
  EXPECT_EQ(odd->ends, (std::vector<RankGroup>{{"x [31m", {2, 3}}}));
  EXPECT_EQ(odd->killed, 1'000'000'000);
  EXPECT_TRUE(odd->left.empty());
}

TEST(Account, ListsOfOthersAreBounded) {
  Account account;
  for (int i = 0; i < 1000; ++i) {
    account.ends.push_back({std::to_string(i), {i}});
    account.left.push_back("x");
    account.logs.push_back("x");
  }
  const auto read = parse_account(to_json(account));
  EXPECT_LT(read->ends.size(), 100U);
  EXPECT_LT(read->left.size(), 10U);
  EXPECT_LT(read->logs.size(), 10U);
}

TEST(Account, OfManyNodesNamesThoseOfTheRanksThatAreUnlikeTheOthers) {
  Account all;
  for (int i = 0; i < 500; ++i) {
    Account one = sum_up(NodeRank(i), {stopped(i, SIGTERM)});
    one.states = {{i == 437 ? "sleeping (S)" : "running (R)", {i}}};
    one.hosts = {host_of(NodeRank(i), fmt::format("n{}", i), {stopped(i, SIGTERM)})};
    merge(all, one);
  }
  const auto read = *parse_account(to_json(all));
  ASSERT_EQ(read.hosts.size(), 64U);
  EXPECT_EQ(read.hosts.back(), (RanksOnNode{NodeRank(437), "n437", {437}})) << "in order";
}

}  // namespace launch::account_test

#include "launch/core/rendezvous/account_exchange.hpp"
#include "launch/core/store/keys.hpp"

#include "../store/store_driver.hpp"

#include <gtest/gtest.h>

namespace launch::account_exchange_test {

using namespace std::chrono_literals;

constexpr Time begin = Time(1h);
constexpr Time give_up = begin + 60s;

Account of_node(int node) {
  Account account;
  account.nodes = {node};
  account.logs = {"logs of node " + std::to_string(node)};
  return account;
}

AccountExchange exchange_of(int node, const std::vector<int>& others = {}) {
  ExchangePlace place{.prefix = "job", .node_rank = NodeRank(node), .deadline = give_up};
  for (const int other : others) place.others.emplace_back(other);
  return {std::move(place), of_node(node), 30s};
}

// Runs until the exchange is over or waits for the others.
ExchangeStep run(AccountExchange& exchange, ExchangeStep step, StoreDriver& store, Time now = begin) {
  while (step.next) {
    const auto outcome = store.perform(*step.next);
    if (!outcome) break;
    step = exchange.on(*outcome, now);
  }
  return step;
}

ExchangeStep run(AccountExchange& exchange, StoreDriver& store) { return run(exchange, exchange.start(begin), store); }

bool is_over(const ExchangeStep& step) { return !step.next; }

TEST(AccountExchange, AllNodesKnowAllAccountsInTheEnd) {
  StoreDriver store;
  AccountExchange first = exchange_of(0, {1, 2}), second = exchange_of(1), third = exchange_of(2);
  ExchangeStep at_first = run(first, store), at_second = run(second, store), at_third = run(third, store);
  EXPECT_FALSE(is_over(at_first) || is_over(at_second) || is_over(at_third));
  at_first = run(first, at_first, store);
  EXPECT_FALSE(is_over(at_first));  // the store may end with it: the others have not read yet
  EXPECT_TRUE(is_over(run(second, at_second, store)));
  EXPECT_TRUE(is_over(run(third, at_third, store)));
  EXPECT_TRUE(is_over(run(first, at_first, store)));
  EXPECT_EQ(first.known().nodes, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(second.known(), first.known());
  EXPECT_EQ(third.known(), first.known());
}

TEST(AccountExchange, OneThatIsAloneWaitsForNobody) {
  StoreDriver store;
  AccountExchange only = exchange_of(0);
  EXPECT_TRUE(is_over(run(only, store)));
  EXPECT_EQ(parse_account(store.get(together_key("job")))->nodes, std::vector<int>{0});
}

TEST(AccountExchange, ANodeWithoutAnAccountIsLeftOutAndNotWaitedForToRead) {
  StoreDriver store;
  ASSERT_TRUE(store.perform(leave_no_account({.prefix = "job", .node_rank = NodeRank(1)})));
  AccountExchange first = exchange_of(0, {1});
  EXPECT_TRUE(is_over(run(first, store)));
  EXPECT_EQ(first.known().nodes, std::vector<int>{0});
}

TEST(AccountExchange, TheOneThatGathersSaysHowManyHaveEndedAndGivesUpAtTheDeadline) {
  StoreDriver store;
  AccountExchange first = exchange_of(0, {1, 2}), second = exchange_of(1);
  run(second, store);
  run(first, store);
  EXPECT_EQ(first.deadline(), begin + 30s);
  ExchangeStep step = run(first, first.on(WaitExpired{}, begin + 30s), store, begin + 30s);
  EXPECT_FALSE(is_over(step));
  EXPECT_EQ(first.deadline(), give_up);
  step = first.on(WaitExpired{}, begin + 31s);  // woken
  step = first.on(*store.perform(*step.next), begin + 31s);
  ASSERT_TRUE(step.waiting);
  EXPECT_EQ(step.waiting->ended, 2);
  EXPECT_EQ(step.waiting->nodes, 3);
  step = run(first, first.on(WaitExpired{}, give_up), store, give_up);
  EXPECT_FALSE(is_over(step));  // node 1 reads it now
  EXPECT_TRUE(is_over(first.on(WaitExpired{}, give_up + 2s)));
  EXPECT_EQ(first.known().nodes, (std::vector<int>{0, 1}));
}

TEST(AccountExchange, TheOthersGiveUpALittleLaterAndSaySo) {
  StoreDriver store;
  AccountExchange second = exchange_of(1);
  ExchangeStep step = run(second, store);
  int lines = 0;
  Time now = begin;
  while (now < give_up + 1s) {
    now = second.deadline();
    EXPECT_LE(now, give_up + 1s);
    step = run(second, second.on(WaitExpired{}, now), store, now);
    lines += step.waiting ? 1 : 0;
  }
  EXPECT_TRUE(is_over(step));
  EXPECT_EQ(lines, 2);
  EXPECT_TRUE(store.has("/job/launch/read/1"));  // nobody must wait for it
  EXPECT_EQ(second.known(), of_node(1));
}

TEST(AccountExchange, WhoSeesThatNobodyGathersGivesUpAtOnce) {
  StoreDriver store;
  AccountExchange second = exchange_of(1);
  run(second, store);
  ASSERT_TRUE(store.perform(leave_no_account({.prefix = "job", .node_rank = NodeRank(0)})));
  EXPECT_TRUE(is_over(run(second, second.on(WaitExpired{}, begin + 2s), store, begin + 2s)));
  EXPECT_EQ(second.known(), of_node(1));
}

TEST(AccountExchange, WaitsForNobodyOnceItIsHurried) {
  for (const bool at_start : {true, false}) {
    StoreDriver store;
    AccountExchange first = exchange_of(0, {1}), second = exchange_of(1);
    if (at_start) first.hurry(), second.hurry();
    ExchangeStep at_second = run(second, store), at_first = run(first, store);
    first.hurry(), second.hurry();
    if (!at_start) at_second = run(second, second.on(WaitExpired{}, begin), store);
    if (!at_start) at_first = run(first, first.on(WaitExpired{}, begin), store);
    EXPECT_TRUE(is_over(at_first));
    EXPECT_TRUE(is_over(at_second));
    EXPECT_TRUE(store.has("/job/launch/read/1"));
  }
}

TEST(AccountExchange, WhatIsNoAccountChangesNothing) {
  StoreDriver store;
  ASSERT_TRUE(store.perform(SetKeys{{{together_key("job"), "nonsense"}, {account_key("job", 2), "{}"}}}));
  AccountExchange second = exchange_of(1);
  EXPECT_TRUE(is_over(run(second, store)));
  EXPECT_EQ(second.known(), of_node(1));
  AccountExchange first = exchange_of(0, {1, 2});
  EXPECT_TRUE(is_over(run(first, store)));  // node 1 has said that it has read
  EXPECT_EQ(first.known().nodes, (std::vector<int>{0, 1}));
}

}  // namespace launch::account_exchange_test

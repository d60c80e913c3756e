#include "launch/core/rendezvous/exit_barrier.hpp"

#include "launch/core/store/keys.hpp"

#include "../store/store_driver.hpp"

#include <gtest/gtest.h>

namespace launch::exit_barrier_test {

using namespace std::chrono_literals;

constexpr Time start_time = Time(1h);

ExitBarrier barrier_of(int nnodes, std::optional<Duration> patience = std::nullopt) {
  return ExitBarrier("none", nnodes, patience, 30s);
}

// Runs until the barrier is passed or waits.
BarrierStep run(ExitBarrier& barrier, BarrierStep step, StoreDriver& store) {
  while (auto* operation = std::get_if<Operation>(&step.next)) {
    const auto outcome = store.perform(*operation);
    if (!outcome) break;
    step = barrier.on(*outcome, start_time);
  }
  return step;
}

bool passed_with_all(const BarrierStep& step) { return std::get<BarrierPassed>(step.next).everybody; }

TEST(ExitBarrier, AllPassWhenTheLastHasCome) {
  StoreDriver store;
  ExitBarrier first = barrier_of(2), second = barrier_of(2);
  BarrierStep waiting = run(first, first.start(start_time), store);
  EXPECT_TRUE(std::holds_alternative<Operation>(waiting.next));
  EXPECT_TRUE(passed_with_all(run(second, second.start(start_time), store)));
  EXPECT_TRUE(passed_with_all(run(first, waiting, store)));
  EXPECT_EQ(store.get("/none/torchelastic/agent/terminal_state/num_members"), "2");
  EXPECT_EQ(store.get("/none/torchelastic/agent/terminal_state/last_member"), "<val_ignored>");
}

TEST(ExitBarrier, TheLastOnePassesWhenTheStoreHasAnswered) {
  StoreDriver store;
  ExitBarrier last = barrier_of(1);
  const BarrierStep telling = last.on(*store.perform(std::get<Operation>(last.start(start_time).next)), start_time);
  EXPECT_TRUE(std::holds_alternative<CompareSet>(std::get<Operation>(telling.next)));
}

// What the store saw first is what all go by.
TEST(ExitBarrier, NobodyPassesARoundThatFailedBeforeAllHadCome) {
  StoreDriver store;
  ExitBarrier first = barrier_of(2), second = barrier_of(2);
  BarrierStep waiting = run(first, first.start(start_time), store);
  (void)store.perform(CompareSet{abort_key("none"), "", "a node is lost"});
  EXPECT_TRUE(std::get<BarrierPassed>(run(second, second.start(start_time), store).next).failed);
  EXPECT_TRUE(std::get<BarrierPassed>(run(first, waiting, store).next).failed);
}

TEST(ExitBarrier, KnowsThatAllHaveComeBeforeItPasses) {
  StoreDriver store;
  ExitBarrier barrier = barrier_of(1);
  BarrierStep step = barrier.start(start_time);
  EXPECT_FALSE(barrier.have_all_come());
  step = barrier.on(*store.perform(std::get<Operation>(step.next)), start_time);
  step = barrier.on(*store.perform(std::get<Operation>(step.next)), start_time);
  EXPECT_TRUE(barrier.have_all_come());
}

TEST(ExitBarrier, SaysNowAndThenHowManyHaveCome) {
  StoreDriver store;
  ExitBarrier barrier = barrier_of(3);
  run(barrier, barrier.start(start_time), store);
  for (const Time now : {start_time + 1s, start_time + 31s}) {
    EXPECT_EQ(barrier.deadline(), now);
    BarrierStep step = barrier.on(WaitExpired{}, now);
    step = barrier.on(*store.perform(std::get<Operation>(step.next)), now);
    EXPECT_EQ(step.arrived, 1);
    EXPECT_TRUE(std::holds_alternative<AwaitKeys>(std::get<Operation>(step.next)));
  }
}

TEST(ExitBarrier, LeavesWithThoseWhoHaveComeWhenItsPatienceEnds) {
  StoreDriver store;
  ExitBarrier host = barrier_of(3, 300s), other = barrier_of(3);
  run(host, host.start(start_time), store);
  const BarrierStep waiting = run(other, other.start(start_time), store);
  EXPECT_FALSE(passed_with_all(run(host, host.on(WaitExpired{}, start_time + 300s), store)));
  EXPECT_TRUE(passed_with_all(run(other, waiting, store)));
}

TEST(ExitBarrier, WhatTheLastOneCouldNotSaySomebodyElseDoes) {
  StoreDriver store;
  ExitBarrier first = barrier_of(2), last = barrier_of(2);
  run(first, first.start(start_time), store);
  store.perform(std::get<Operation>(last.start(start_time).next));  // and then it is gone
  const BarrierStep step = first.on(WaitExpired{}, start_time + std::chrono::seconds(1));
  EXPECT_TRUE(passed_with_all(run(first, step, store)));
}

TEST(ExitBarrier, WithoutALimitWaitsOn) {
  StoreDriver store;
  ExitBarrier barrier = barrier_of(2);
  run(barrier, barrier.start(start_time), store);
  EXPECT_TRUE(std::holds_alternative<Operation>(barrier.on(WaitExpired{}, start_time + 1000h).next));
}

}  // namespace launch::exit_barrier_test

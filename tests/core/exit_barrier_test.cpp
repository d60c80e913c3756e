#include "launch/core/exit_barrier.hpp"

#include "store_driver.hpp"

#include <gtest/gtest.h>

namespace launch {
namespace {

constexpr Time start_time = Time(std::chrono::hours(1));

// Runs until the barrier is passed or waits.
BarrierStep run(ExitBarrier& barrier, BarrierStep step, StoreDriver& store) {
  while (auto* operation = std::get_if<Operation>(&step)) {
    const auto outcome = store.perform(*operation);
    if (!outcome) break;
    step = barrier.on(*outcome, start_time);
  }
  return step;
}

TEST(ExitBarrier, AllPassWhenTheLastHasCome) {
  StoreDriver store;
  ExitBarrier first("none", 2), second("none", 2);
  BarrierStep waiting = run(first, first.start(start_time), store);
  EXPECT_TRUE(std::holds_alternative<Operation>(waiting));
  EXPECT_TRUE(std::get<BarrierPassed>(run(second, second.start(start_time), store)).everybody);
  EXPECT_TRUE(std::get<BarrierPassed>(run(first, waiting, store)).everybody);
  EXPECT_EQ(store.get("/none/torchelastic/agent/terminal_state/num_members"), "2");
  EXPECT_EQ(store.get("/none/torchelastic/agent/terminal_state/last_member"), "<val_ignored>");
}

TEST(ExitBarrier, LeavesWithoutTheOthersAtItsDeadline) {
  StoreDriver store;
  ExitBarrier barrier("none", 2);
  run(barrier, barrier.start(start_time), store);
  EXPECT_EQ(barrier.deadline(), start_time + exit_barrier_timeout);
  const BarrierStep step = barrier.on(WaitExpired{}, barrier.deadline());
  EXPECT_FALSE(std::get<BarrierPassed>(step).everybody);
}

}  // namespace
}  // namespace launch

#include "launch/io/progress_board.hpp"

#include "launch/io/clock.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace launch::progress_board_test {

TEST(ProgressBoard, HearsEachWorkerOnAnyThread) {
  ProgressBoard board(*ProgressPattern::compile("step ([0-9]+)"), 2);
  const StreamEar first = board.ear(LocalRank(0)), second = board.ear(LocalRank(1)), errors = board.ear(LocalRank(1));
  EXPECT_TRUE(board.steps().empty());
  EXPECT_FALSE(board.heard_at());
  const Time before = now();
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i < 1000; ++i) first("x\n");
    first("step 1\n");
  });
  threads.emplace_back([&] { second("step 5\n"); });
  for (std::thread& thread : threads) thread.join();
  errors("a warning\n");
  ASSERT_TRUE(board.heard_at());
  EXPECT_GE(*board.heard_at(), before);
  while (board.steps().size() < 2) std::this_thread::yield();  // the window of the first ends
  EXPECT_EQ(1, board.steps()[0].step);
  EXPECT_EQ(5, board.steps()[1].step);
}

// As with a pattern for which one look at a line takes long, on the thread of another worker.
TEST(ProgressBoard, WhileALineIsLookedAtOldStepsAreTold) {
  ProgressBoard board(*ProgressPattern::compile("step ([0-9]+)|(?:(?:x*)*y)*z"), 2);
  const StreamEar quick = board.ear(LocalRank(0)), slow = board.ear(LocalRank(1));
  quick("step 1\n");
  ASSERT_EQ(1U, board.steps().size());
  std::atomic<bool> stop = false;
  std::thread looks([&] {
    while (!stop) slow(std::string(ProgressPattern::longest, 'x') + "\n");
  });
  for (int i = 0; i < 10'000; ++i) {
    const auto steps = board.steps();
    ASSERT_EQ(1U, steps.size());
    ASSERT_EQ(1, steps[0].step);
  }
  stop = true;
  looks.join();
}

TEST(ProgressBoard, WithoutAPatternItOnlyHears) {
  ProgressBoard board(std::nullopt, 1);
  board.ear(LocalRank(0))("step 1\n");
  EXPECT_TRUE(board.heard_at());
  EXPECT_TRUE(board.steps().empty());
}

TEST(ProgressBoard, AnEarMayOutliveIt) {
  StreamEar ear;
  {
    ProgressBoard board(*ProgressPattern::compile("(1)"), 1);
    ear = board.ear(LocalRank(0));
  }
  ear("1\n");
}

}  // namespace launch::progress_board_test

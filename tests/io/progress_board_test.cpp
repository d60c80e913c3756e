#include "launch/io/progress_board.hpp"

#include "launch/io/clock.hpp"

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

#include "launch/core/control/top_screen.hpp"

#include "node_reports.hpp"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::top_screen_test {
namespace {

using testing::HasSubstr;

NodeReport busy_node(int rank, int workers) {
  WorkerReport like;
  like.cpu_percent = 100;
  like.memory_bytes = 1 << 30;
  like.last_line_age_s = 1;
  return running_node(rank, 250, workers, like);
}

TEST(TopScreen, TwoThousandRanksOnOnePageTheWorstFirst) {
  Screen screen;
  for (int rank = 0; rank < 250; ++rank) screen.nodes.push_back(busy_node(rank, 8));
  screen.nodes[7].workers[3].last_line_age_s = 600;
  screen.nodes[200].workers[0].state = "ended";
  screen.nodes[200].workers[0].end = "exit code 3";
  screen.nodes[100].workers.clear();
  screen.nodes[100].fault = "no answer in 3 s";
  const std::string text = top_screen(screen);
  EXPECT_EQ(24, std::count(text.begin(), text.end(), '\n'));
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
    EXPECT_LE(text.find('\n', begin) - begin, 80U);
  EXPECT_THAT(text, testing::StartsWith("job job: train.py; 250 nodes, 1 ended, 1991 running; round 0, 0 restarts\n"
                                        "node 100 n100: no answer in 3 s\n"
                                        "rank  host  state     cpu   memory     age  last line\n"
                                        "1600  n200  ended    100%  1.0 GiB     1 s  exit code 3; step 7\n"
                                        "  59  n7    running  100%  1.0 GiB  10 min  step 7\n"));
  EXPECT_THAT(text, HasSubstr("q ends; 1972 more ranks, none of them more urgent"));
}

TEST(TopScreen, TheMemoryOnGpusHasAColumnIfItIsKnownOfAWorker) {
  Screen screen{{busy_node(0, 1)}};
  screen.nodes[0].workers[0].gpu_memory_bytes = std::int64_t{9} << 30;
  EXPECT_THAT(top_screen(screen), HasSubstr("rank  host  state     cpu   memory  gpu mem     age  last line\n"
                                            "   0  n0    running  100%  1.0 GiB  9.0 GiB     1 s  step 7\n"));
}

TEST(TopScreen, SmallJobsFitAsAWhole) {
  Screen screen;
  screen.nodes = {busy_node(0, 2)};
  const std::string text = top_screen(screen);
  EXPECT_EQ(5, std::count(text.begin(), text.end(), '\n'));
  EXPECT_THAT(text, HasSubstr("q ends\n"));
  screen.rows = 1;
  screen.columns = 1;
  EXPECT_FALSE(top_screen(screen).empty());
}

}  // namespace
}  // namespace launch::top_screen_test

#include "launch/core/control/status_screen.hpp"

#include "launch/core/base/text.hpp"

#include "node_reports.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::status_screen_test {
namespace {

using testing::HasSubstr;
using testing::Not;

NodeReport node(int rank, int workers) {
  WorkerReport like;
  like.cpu_percent = 99.6;
  like.memory_bytes = std::int64_t{3} << 29;
  like.last_line_age_s = 2.5;
  like.stack = {"wait (threading.py:1)", "all_reduce (train.py:41)"};
  NodeReport report = running_node(rank, 2, workers, like);
  report.since = "2026-11-27 06:00:00";
  report.age_s = 61;
  return report;
}

TEST(StatusScreen, ShowsNodesAndWorkers) {
  const std::string text = status_screen({{node(0, 2), node(1, 2)}, 80});
  EXPECT_EQ(
      "job job: train.py; 2 nodes, 4 running; round 0, 0 restarts\n"
      "rank   pid  state     cpu   memory     age  last line\n"
      "node 0 n0 (pid 100): running since 2026-11-27 06:00:00, 61 s\n"
      "   0  1000  running  100%  1.5 GiB   2.5 s  step 7\n"
      "   1  1001  running  100%  1.5 GiB   2.5 s  step 7\n"
      "node 1 n1 (pid 101): running since 2026-11-27 06:00:00, 61 s\n"
      "   2  1002  running  100%  1.5 GiB   2.5 s  step 7\n"
      "   3  1003  running  100%  1.5 GiB   2.5 s  step 7\n",
      text);
}

TEST(StatusScreen, ShowsTheMemoryOnGpusIfItIsKnownOfAWorker) {
  NodeReport report = node(0, 2);
  report.workers[1].gpu_memory_bytes = std::int64_t{9} << 30;
  EXPECT_EQ(
      "job job: train.py; 2 nodes, 2 running; round 0, 0 restarts\n"
      "rank   pid  state     cpu   memory  gpu mem     age  last line\n"
      "node 0 n0 (pid 100): running since 2026-11-27 06:00:00, 61 s\n"
      "   0  1000  running  100%  1.5 GiB        -   2.5 s  step 7\n"
      "   1  1001  running  100%  1.5 GiB  9.0 GiB   2.5 s  step 7\n",
      status_screen({{report}, 80}));
}

TEST(StatusScreen, ShowsStepsAndWhoIsBehind) {
  NodeReport report = node(0, 2);
  report.workers[0].step = report.workers[1].step = 1200;
  report.workers[0].rate = 9.93;
  EXPECT_THAT(status_screen({{report}, 100}), HasSubstr("GiB  1200  9.9/s   2.5 s  step 7\n"));
  EXPECT_THAT(status_screen({{report}, 100}), Not(HasSubstr("behind")));
  report.workers[1].step = 1180;
  EXPECT_THAT(status_screen({{report}, 100}), HasSubstr("0 restarts\nsteps 1180 to 1200; behind: rank 1\n"));
}

TEST(StatusScreen, FoldsManyWorkersAndShowsThoseThatDoNotRun) {
  NodeReport first = node(0, 40);
  first.workers[5].state = "ended";
  first.workers[5].end = "exit code 3";
  NodeReport silent;
  silent.node_rank = 2;
  silent.fault = "no answer in 3 s";
  const std::string text = status_screen({{first, node(1, 40), silent}, 80});
  EXPECT_THAT(text, HasSubstr("node  host    cpu  memory  workers\n   0  n0    3984%  60 GiB  1 ended, 39 running\n"
                              "  rank 5: ended, exit code 3"));
  EXPECT_THAT(text, HasSubstr("node 2: no answer in 3 s"));
  EXPECT_THAT(text, Not(HasSubstr("step 7\n     1")));
  EXPECT_LT(split(text, '\n').size(), 10U);
}

TEST(StatusScreen, NothingFromOutsideReachesTheTerminal) {
  NodeReport hostile = node(0, 1);
  hostile.workers[0].last_line = "\x1b[2J\rgone\x07";
  hostile.program = "a\nb";
  hostile.host = "h\x1b]0;x";
  const std::string text =
      status_screen({{hostile}, 80}) + stacks_screen({{hostile}, 80}) + jobs_screen({{hostile}, 80});
  EXPECT_EQ(std::string::npos, text.find_first_of("\x1b\r\x07"));
  for (const std::string_view line : split(text, '\n')) EXPECT_LE(line.size(), 80U);
}

TEST(StacksScreen, EqualPlacesAreOneLine) {
  NodeReport first = node(0, 8);
  first.workers[7].stack = {"load_batch (data.py:88)"};
  EXPECT_EQ("ranks 0-6, 8-15: in all_reduce (train.py:41)\nrank 7: in load_batch (data.py:88)\n",
            stacks_screen({{first, node(1, 8)}, 80}));
}

TEST(StacksScreen, SaysWhatWouldShowAStack) {
  NodeReport first = node(0, 2);
  for (WorkerReport& worker : first.workers) worker.stack.clear();
  EXPECT_THAT(stacks_screen({{first}, 80}), HasSubstr("ranks 0-1: no stack (py-spy"));
}

TEST(DoneScreen, SaysWhoDidWhat) {
  NodeReport first = node(0, 1);
  first.done = "sent SIGUSR1 to rank 0";
  NodeReport other;
  other.node_rank = 1;
  other.fault = "no answer in 3 s";
  EXPECT_EQ("node 0 n0: sent SIGUSR1 to rank 0\nnode 1: no answer in 3 s\n", done_screen({{first, other}, 80}));
}

TEST(BytesText, HasAFewDigits) {
  EXPECT_EQ("0 KiB", bytes_text(0));
  EXPECT_EQ("12 KiB", bytes_text(12 << 10));
  EXPECT_EQ("700 MiB", bytes_text(std::int64_t{700} << 20));
  EXPECT_EQ("1.5 GiB", bytes_text(std::int64_t{3} << 29));
}

}  // namespace
}  // namespace launch::status_screen_test

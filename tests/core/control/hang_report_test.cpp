#include "launch/core/control/hang_report.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::hang_report_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

NodeReport node(int rank, const std::vector<std::string>& frames) {
  NodeReport report;
  report.node_rank = rank;
  for (const std::string& frame : frames) {
    WorkerReport worker;
    worker.rank = static_cast<int>(report.workers.size()) + 10 * rank;
    worker.state = "running";
    if (!frame.empty()) worker.stack = {frame};
    report.workers.push_back(worker);
  }
  return report;
}

TEST(HangReport, HowLongEachNodeHasBeenQuiet) {
  NodeReport known, silent, odd;
  known.node_rank = 0;
  known.quiet_s = 1.5;
  known.quiet_by_steps = true;
  silent.node_rank = 1;
  silent.fault = "torchrun's node: it cannot be asked";
  odd.node_rank = 2;
  odd.quiet_s = 1e300;
  const auto quiet = quiet_of({known, silent, odd});
  ASSERT_EQ(3U, quiet.size());
  EXPECT_EQ(1500ms, quiet[0].quiet->time);
  EXPECT_TRUE(quiet[0].quiet->by_steps);
  EXPECT_FALSE(quiet[1].quiet);
  EXPECT_GT(quiet[2].quiet->time, 24h);
}

TEST(HangReport, AWorkerMovesIfItsStackIsAnotherOne) {
  const std::string f = "f (t.py:3)", g = "g (t.py:9)";
  EXPECT_FALSE(have_moved({node(0, {f, f})}, {node(0, {f, f})}));
  EXPECT_TRUE(have_moved({node(0, {f, f}), node(1, {f})}, {node(0, {f, f}), node(1, {g})}));
  EXPECT_FALSE(have_moved({node(0, {f, ""})}, {node(0, {f, g})}));
  EXPECT_FALSE(have_moved({node(0, {f})}, {node(0, {""})}));
  EXPECT_FALSE(have_moved({}, {node(0, {f})}));
}

TEST(HangReport, SaysWhereTheWorkersAre) {
  EXPECT_EQ("no progress for 20 s", no_progress_text(20'049ms));
  EXPECT_THAT(hang_lines({}), IsEmpty());
  NodeReport first = node(0, {"f (t.py:3)", "f (t.py:3)"}), second = node(1, {"sleep (t.py:9)"});
  EXPECT_THAT(hang_lines({first, second}), ElementsAre("ranks 0-1: in f (t.py:3)", "rank 10: in sleep (t.py:9)"));
  first.workers[0].step = first.workers[1].step = 7;
  second.workers[0].step = 6;
  EXPECT_EQ("steps 6 to 7; behind: rank 10", hang_lines({first, second}).at(0));
}

}  // namespace
}  // namespace launch::hang_report_test

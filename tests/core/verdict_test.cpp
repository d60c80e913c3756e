#include "launch/core/verdict.hpp"

#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using testing::HasSubstr;
using testing::Not;

Verdict sample() {
  Verdict verdict{"train.py", "none", 2, 0, {}, {}};
  verdict.first.exit_code = 139;
  verdict.first.node_rank = 1;
  verdict.first.host = "n1";
  verdict.first.rank = 3;
  verdict.first.local_rank = 1;
  verdict.first.pid = 42;
  verdict.first.what = "signal 11 (SIGSEGV), segmentation fault";
  verdict.first.time = "2026-07-03 17:54:25";
  return verdict;
}

WorkerEnd ended(int rank, int code) { return {rank, rank, {ExitStatus::Kind::exited, code}, false}; }
WorkerEnd stopped(int rank, int signal) { return {rank, rank, {ExitStatus::Kind::signalled, signal}, true}; }

NodeEnd node(int rank, const std::vector<WorkerEnd>& workers) {
  NodeEnd end = sum_up(workers);
  end.node_rank = rank;
  end.host = fmt::format("n{}", rank);
  return end;
}

TEST(Verdict, IsOneScreenWithTheRootCauseFirst) {
  Verdict verdict = sample();
  verdict.restarts = 2;
  verdict.first.why_final = "it had 2 restarts";
  verdict.nodes = {node(0, {stopped(0, SIGTERM), stopped(1, SIGKILL)}), node(1, {stopped(2, SIGTERM), ended(4, 0)})};
  verdict.nodes[0].logs = "/logs/none_x/attempt_0";
  EXPECT_EQ(
      render_verdict(verdict),
      "train.py FAILED (run id none)\n"
      "  root cause     rank 3 (local rank 1) on node 1 (host n1), pid 42: signal 11 (SIGSEGV), segmentation fault\n"
      "  time           2026-07-03 17:54:25\n"
      "  log            the worker's own output, on the console of host n1\n"
      "  not restarted  it had 2 restarts\n"
      "  followers      ranks 0, 2: signal 15 (SIGTERM), after launch stopped it\n"
      "                 rank 4: exit code 0\n"
      "                 rank 1: signal 9 (SIGKILL), after launch stopped it\n"
      "  logs           node 0 (host n0): /logs/none_x/attempt_0\n"
      "  launch         stopped 3 workers, 1 of them by SIGKILL; had started all workers anew 2 times; no process "
      "is left\n"
      "  exit code      139");
}

TEST(Verdict, ShowsTheWorkersOwnWordsAndItsTraceback) {
  Verdict verdict = sample();
  verdict.first.detail = "ValueError: x";
  verdict.first.frames = {R"(  File "train.py", line 3, in main)", "    step()"};
  verdict.first.error_file = "/tmp/e/error.json";
  verdict.first.log_file = "/tmp/e/stderr.log";
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  error          ValueError: x"
                                                 "\n  traceback        File \"train.py\", line 3, in main"
                                                 "\n                     step()"
                                                 "\n  error file     /tmp/e/error.json"
                                                 "\n  log            /tmp/e/stderr.log\n"));
}

TEST(Verdict, ShowsTheOutlierFirstAmongThePlaces) {
  Verdict verdict = sample();
  verdict.nodes = {node(0, {}), node(1, {})};
  verdict.nodes[0].places = {{"in all_reduce (d.py:1)", {0, 1}}};
  verdict.nodes[1].places = {{"in all_reduce (d.py:1)", {3}}, {"in load_batch (t.py:7)", {2}}};
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  at the time    rank 2: in load_batch (t.py:7)"
                                                 "\n                 ranks 0-1, 3: in all_reduce (d.py:1)\n"));
}

TEST(Verdict, NamesNodesThatGaveNoAccount) {
  Verdict verdict = sample();
  verdict.nnodes = 5;
  verdict.nodes = {node(0, {}), node(2, {})};
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  no account     from nodes 1, 3-4\n"));
  verdict.nnodes = 3;
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  no account     from node 1\n"));
  verdict.first.kind = Failure::Kind::lost;
  EXPECT_THAT(render_verdict(verdict), Not(HasSubstr("no account"))) << "it is the cause";
}

TEST(Verdict, NamesWhatIsLeftInPlaceOfTheProof) {
  Verdict verdict = sample();
  verdict.nodes = {node(0, {}), node(1, {})};
  verdict.nodes[1].left = {"pid 7 (python), uninterruptible sleep (D) in nfs_wait"};
  const std::string text = render_verdict(verdict);
  EXPECT_THAT(text, HasSubstr("\n  left behind    on node 1 (host n1): pid 7 (python), uninterruptible sleep"));
  EXPECT_THAT(text, Not(HasSubstr("no process is left")));
}

TEST(Verdict, FitsOnAScreenHoweverManyNodesThereAre) {
  Verdict verdict = sample();
  verdict.nnodes = 10'000;
  for (int i = 0; i < verdict.nnodes; ++i) {
    verdict.nodes.push_back(node(i, {ended(i, i % 100)}));
    verdict.nodes.back().logs = "/logs";
    verdict.nodes.back().places = {{fmt::format("place {}", i % 50), {i}}};
  }
  const std::string text = render_verdict(verdict);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_THAT(text, HasSubstr("and 92 kinds more"));
  EXPECT_THAT(text, HasSubstr("and of 9992 nodes more"));
  for (std::size_t start = 0, end = 0; end != std::string::npos; start = end + 1) {
    end = text.find('\n', start);
    EXPECT_LT(text.substr(start, end - start).size(), 400U);
  }
}

TEST(Verdict, AJobThatWasToldToStopHasNotFailed) {
  Verdict verdict = sample();
  verdict.first = {};
  verdict.first.kind = Failure::Kind::signal;
  verdict.first.exit_code = 143;
  verdict.first.what = "launch was told to stop by SIGTERM from pid 9 (bash)";
  verdict.first.host = "a";
  verdict.nnodes = 1;
  verdict.nodes = {node(0, {stopped(0, SIGTERM)})};
  EXPECT_EQ(render_verdict(verdict),
            "train.py STOPPED (run id none)\n"
            "  root cause     node 0 (host a): launch was told to stop by SIGTERM from pid 9 (bash)\n"
            "  followers      rank 0: signal 15 (SIGTERM), after launch stopped it\n"
            "  launch         stopped 1 worker; no process is left\n"
            "  exit code      143");
}

TEST(Verdict, JsonHoldsAllThatTheTextSays) {
  Verdict verdict = sample();
  verdict.nodes = {node(0, {stopped(0, SIGTERM), stopped(1, SIGTERM)})};
  const auto json = nlohmann::json::parse(verdict_json(verdict));
  EXPECT_EQ(json["exit_code"], 139);
  EXPECT_EQ(json["root_cause"]["rank"], 3);
  EXPECT_EQ(json["root_cause"]["what"], "signal 11 (SIGSEGV), segmentation fault");
  EXPECT_EQ(json["followers"][0]["ranks"], nlohmann::json({0, 1}));
  EXPECT_EQ(json["no_account"], nlohmann::json::array({1}));
  EXPECT_EQ(json["nodes"][0]["stopped"], 2);
}

TEST(NodeEnds, SurviveTheWayThroughTheStore) {
  std::vector<NodeEnd> nodes = {node(0, {stopped(0, SIGTERM)}), node(7, {ended(1, 3), stopped(2, SIGKILL)})};
  nodes[1].places = {{"in f (x.py:1)", {1, 2}}};
  nodes[1].logs = "/l";
  nodes[1].left = {"pid 1"};
  EXPECT_EQ(*parse_node_ends(to_json(nodes)), nodes);
}

TEST(NodeEnds, ForeignBytesDoNoHarm) {
  for (const char* text : {"", "{", "{}", "[1]", "3", "null"}) EXPECT_FALSE(parse_node_ends(text)) << text;
  const auto odd = parse_node_ends(
      R"([{"node_rank": -1, "host": "a\u001b[31m",
           "ends": [1, {"what": 3, "ranks": [1]}, {"what": "x", "ranks": ["y", 1e99]}],
           "stopped": "many", "left": [3], "logs": {}}])");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->at(0).host, "a [31m");
  EXPECT_EQ(odd->at(0).ends, (std::vector<RankGroup>{{"x", {0, 0}}}));
  EXPECT_TRUE(odd->at(0).left.empty());
}

TEST(Ranges, FoldNeighbours) {
  EXPECT_EQ(as_ranges({0, 1, 2, 4, 6, 7}), "0-2, 4, 6-7");
  EXPECT_EQ(as_ranges({}), "");
}

}  // namespace
}  // namespace launch

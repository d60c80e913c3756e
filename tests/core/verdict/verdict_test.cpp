#include "launch/core/verdict/verdict.hpp"

#include "worker_ends.hpp"

#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace launch::verdict_test {

using testing::HasSubstr;
using testing::Not;

Verdict sample() {
  Verdict verdict{"train.py", "none", 2, 0, {}, {}, ""};
  verdict.first.exit_code = 139;
  verdict.first.node_rank = NodeRank(1);
  verdict.first.host = "n1";
  verdict.first.rank = GlobalRank(3);
  verdict.first.local_rank = LocalRank(1);
  verdict.first.pid = 42;
  verdict.first.what = "signal 11 (SIGSEGV), segmentation fault";
  verdict.first.time = "2026-07-03 17:54:25";
  return verdict;
}

TEST(Verdict, IsOneScreenWithTheRootCauseFirst) {
  Verdict verdict = sample();
  verdict.restarts = 2;
  verdict.first.why_final = "limit reached (--max-restarts=2)";
  Account first = sum_up(NodeRank(0), {stopped(0, SIGTERM), stopped(1, SIGKILL)});
  first.logs = {on_node(NodeRank(0), "n0", "/logs/none_x/attempt_0")};
  verdict.account = together({first, sum_up(NodeRank(1), {stopped(2, SIGTERM), ended(4, 0)})});
  EXPECT_EQ(
      render_verdict(verdict),
      "train.py FAILED (run id none)\n"
      "  root cause     rank 3 (local rank 1) on node 1 (host n1), pid 42: signal 11 (SIGSEGV), segmentation fault\n"
      "  time           2026-07-03 17:54:25\n"
      "  output         not kept: it went to the console of launch on host n1; --tee=3 --log-dir=FOLDER keeps it\n"
      "  not restarted  limit reached (--max-restarts=2)\n"
      "  other workers  ranks 0, 2: signal 15 (SIGTERM), stopped by launch\n"
      "                 rank 1: signal 9 (SIGKILL), stopped by launch\n"
      "                 rank 4: exit code 0\n"
      "  logs           node 0 (host n0): /logs/none_x/attempt_0\n"
      "  cleanup        stopped 3 workers, 1 of them by SIGKILL; restarted all workers 2 times before; none left "
      "running\n"
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
                                                 "\n  error file     host n1: /tmp/e/error.json"
                                                 "\n  log            host n1: /tmp/e/stderr.log\n"));
}

TEST(Verdict, TellsOfOtherExceptionsFromTheFirstToTheLast) {
  Verdict verdict = sample();
  verdict.first.detail = "ExceptionGroup: many (2 sub-exceptions)";
  verdict.first.causes = {"KeyError: 'k' (t.py:3 in f)", "OSError: x (t.py:5 in g)"};
  verdict.first.members = {"TypeError: a", "TypeError: b"};
  verdict.first.note = "what launch knows";
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  error          KeyError: 'k' (t.py:3 in f)"
                                                 "\n                 which led to OSError: x (t.py:5 in g)"
                                                 "\n                 which led to ExceptionGroup: many (2 "
                                                 "sub-exceptions)"
                                                 "\n  in the group   TypeError: a"
                                                 "\n                 TypeError: b"
                                                 "\n  note           what launch knows\n"));
}

TEST(Verdict, ShowsTheOutlierFirstAmongThePlaces) {
  Verdict verdict = sample();
  std::vector<Account> accounts = {sum_up(NodeRank(0), {}), sum_up(NodeRank(1), {})};
  accounts[0].places = {{"in all_reduce (d.py:1)", {0, 1}}};
  accounts[1].places = {{"in all_reduce (d.py:1)", {3}}, {"in load_batch (t.py:7)", {2}}};
  verdict.account = together(accounts);
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  at failure     rank 2: in load_batch (t.py:7)"
                                                 "\n                 ranks 0-1, 3: in all_reduce (d.py:1)\n"));
}

TEST(Verdict, NamesNodesThatGaveNoAccount) {
  Verdict verdict = sample();
  verdict.nnodes = 5;
  verdict.account = together({sum_up(NodeRank(2), {}), sum_up(NodeRank(0), {})});
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  no report      from nodes 1, 3-4\n"));
  EXPECT_THAT(render_verdict(verdict), HasSubstr("none left running, except perhaps on nodes 1, 3-4\n"));
  verdict.nnodes = 3;
  EXPECT_THAT(render_verdict(verdict), HasSubstr("\n  no report      from node 1\n"));
  verdict.first.kind = Failure::Kind::lost;
  EXPECT_THAT(render_verdict(verdict), Not(HasSubstr("no report"))) << "it is the cause";
  EXPECT_THAT(render_verdict(verdict), HasSubstr("none left running, except perhaps on node 1\n"));
}

TEST(Verdict, NamesWhatIsLeftInPlaceOfTheProof) {
  Verdict verdict = sample();
  verdict.account = together({sum_up(NodeRank(0), {}), sum_up(NodeRank(1), {})});
  verdict.account.left = {on_node(NodeRank(1), "n1", "pid 7 (python), uninterruptible sleep (D) in nfs_wait")};
  const std::string text = render_verdict(verdict);
  EXPECT_THAT(text, HasSubstr("\n  left behind    on node 1 (host n1): pid 7 (python), uninterruptible sleep"));
  EXPECT_THAT(text, Not(HasSubstr("none left running")));
}

TEST(Verdict, FitsOnAScreenHoweverManyNodesThereAre) {
  Verdict verdict = sample();
  verdict.nnodes = 2'000;
  for (int i = 0; i < verdict.nnodes; ++i) {
    Account one = sum_up(NodeRank(i), {ended(i, i % 100)});
    one.logs = {on_node(NodeRank(i), "n", "/logs")};
    one.left = {on_node(NodeRank(i), "n", "pid 1")};
    one.places = {{fmt::format("place {}", i % 50), {i}}};
    merge(verdict.account, one);
  }
  EXPECT_LT(to_json(verdict.account).size(), 100'000U) << "though no two neighbours ended alike";
  const std::string text = render_verdict(verdict);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_THAT(text, HasSubstr("and 92 more groups"));
  EXPECT_THAT(text, HasSubstr("and of 1992 more nodes"));
  for (std::size_t start = 0, end = 0; end != std::string::npos; start = end + 1) {
    end = text.find('\n', start);
    EXPECT_LT(text.substr(start, end - start).size(), 400U);
  }
}

TEST(Verdict, OnASharedConsoleFewNodesShowAllOfIt) {
  Verdict verdict = sample();
  verdict.nnodes = 4;
  for (int node = 0; node < 4; ++node) merge(verdict.account, sum_up(NodeRank(node), {stopped(node, SIGTERM)}));
  for (int node = 0; node < 4; ++node) EXPECT_EQ(shows_whole(verdict, NodeRank(node)), node < 2) << node;
  EXPECT_EQ(render_briefly(verdict),
            "rank 3 (local rank 1) on node 1 (host n1), pid 42: signal 11 (SIGSEGV), segmentation fault; "
            "node 0 has the whole report");
  verdict.account = sum_up(NodeRank(3), {stopped(3, SIGTERM)});
  EXPECT_TRUE(shows_whole(verdict, NodeRank(3))) << "it knows of nobody else";
  EXPECT_TRUE(shows_whole(verdict, NodeRank(2)));
}

TEST(Verdict, AJobThatWasToldToStopHasNotFailed) {
  Verdict verdict = sample();
  verdict.first = {};
  verdict.first.kind = Failure::Kind::signal;
  verdict.first.exit_code = 143;
  verdict.first.what = "launch was told to stop by SIGTERM from pid 9 (bash)";
  verdict.first.host = "a";
  verdict.nnodes = 1;
  verdict.account = sum_up(NodeRank(0), {stopped(0, SIGTERM)});
  EXPECT_EQ(render_verdict(verdict),
            "train.py STOPPED (run id none): node 0 (host a): launch was told to stop by SIGTERM from pid 9 (bash); "
            "exit code "
            "143\n"
            "  cleanup        stopped 1 worker; none left running");
}

TEST(Verdict, OfAMembershipThatChangedTooOftenNamesTheChangeAndTheLimit) {
  Verdict verdict = sample();
  verdict.first = {};
  verdict.first.kind = Failure::Kind::lost;
  verdict.first.node_rank = NodeRank::none();
  verdict.first.what = "n3_17_0 joins";
  verdict.first.why_final = "nodes have joined or left 3 times, and --max-membership-restarts allows no more than 2";
  verdict.account = sum_up(NodeRank(0), {stopped(0, SIGTERM)});
  EXPECT_EQ(render_verdict(verdict),
            "train.py FAILED (run id none)\n"
            "  root cause     n3_17_0 joins\n"
            "  not restarted  nodes have joined or left 3 times, and --max-membership-restarts allows no more than 2\n"
            "  other workers  rank 0: signal 15 (SIGTERM), stopped by launch\n"
            "  no report      from node 1\n"
            "  cleanup        stopped 1 worker; none left running, except perhaps on node 1\n"
            "  exit code      1");
}

TEST(Verdict, JsonHoldsAllThatTheTextSays) {
  Verdict verdict = sample();
  verdict.account = sum_up(NodeRank(0), {stopped(0, SIGTERM), stopped(1, SIGTERM)});
  const auto json = nlohmann::json::parse(verdict_json(verdict));
  EXPECT_EQ(json["exit_code"], 139);
  EXPECT_EQ(json["root_cause"]["rank"], 3);
  EXPECT_EQ(json["root_cause"]["what"], "signal 11 (SIGSEGV), segmentation fault");
  EXPECT_EQ(json["followers"][0]["ranks"], "0-1");
  EXPECT_EQ(json["no_account"], "1");
  EXPECT_EQ(json["time_left"], "");
  EXPECT_EQ(json["stopped"], 2);
}

TEST(Verdict, AJobThatWasToldToStopIsKnownByItsJson) {
  Verdict verdict = sample();
  EXPECT_FALSE(was_told_to_stop(verdict_json(verdict)));
  verdict.first = failure_of_signal({NodeRank(0), "n0"}, 130, "launch was told to stop");
  EXPECT_TRUE(was_told_to_stop(verdict_json(verdict)));
  for (const char* text : {"", "{}", "[]", "{\"root_cause\": 3}", "signal"})
    EXPECT_FALSE(was_told_to_stop(text)) << text;
}

}  // namespace launch::verdict_test

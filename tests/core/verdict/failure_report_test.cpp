#include "launch/core/verdict/failure_report.hpp"

#include <gtest/gtest.h>

namespace launch::failure_report_test {

Failure sample() {
  Failure failure;
  failure.exit_code = 139;
  failure.node_rank = NodeRank(1);
  failure.host = "n1";
  failure.rank = GlobalRank(3);
  failure.local_rank = LocalRank(1);
  failure.pid = 42;
  failure.what = "signal 11 (SIGSEGV)";
  failure.time = "2026-07-03 17:54:25";
  return failure;
}

TEST(FailureReport, AWorkersFailureTellsAllThatIsKnownOfIt) {
  const FailedWorker who{GlobalRank(3), LocalRank(1), 42, "2026-07-03 17:54:25"};
  EXPECT_EQ(failure_of_worker({NodeRank(1), "n1"}, who, {ExitStatus::Kind::signalled, 11}), sample());
  const Failure not_started =
      failure_of_start({NodeRank(1), "n1"}, {GlobalRank(3), LocalRank(1), 0, "then"}, 127, "no such program");
  EXPECT_EQ(not_started.kind, Failure::Kind::start);
  EXPECT_EQ(not_started.exit_code, 127);
  EXPECT_EQ(not_started.time, "then");
  EXPECT_EQ(describe(not_started), "rank 3 (local rank 1) on node 1 (host n1): no such program");
}

TEST(FailureReport, ANodesFailureHasItsKindAndExitCode) {
  const FailurePlace where{NodeRank(1), "n1"};
  const std::pair<Failure, std::pair<Failure::Kind, int>> failures[] = {
      {failure_of_start(where, "x"), {Failure::Kind::start, 1}},
      {failure_of_rendezvous(where, {ErrorCode::timeout, "x"}),
       {Failure::Kind::rendezvous, exit_code(ErrorCode::timeout)}},
      {failure_of_signal(where, 143, "x"), {Failure::Kind::signal, 143}},
      {failure_of_store(where, "x"), {Failure::Kind::store, 1}},
      {failure_of_lost_node(where, "x"), {Failure::Kind::lost, 1}},
  };
  for (const auto& [failure, expected] : failures) {
    EXPECT_EQ(failure.kind, expected.first);
    EXPECT_EQ(failure.exit_code, expected.second);
    EXPECT_EQ(describe(failure), "node 1 (host n1): x");
    EXPECT_FALSE(failure.restart);
    EXPECT_EQ(*parse_failure(to_json(failure)), failure);
  }
  EXPECT_EQ(describe(failure_of_lost_node({}, "n3 has left")), "n3 has left");
  const Failure hang = failure_of_hang("no progress for 20 s");
  EXPECT_EQ(describe(hang), "no progress for 20 s");
  EXPECT_EQ(*parse_failure(to_json(hang)), hang);
  EXPECT_TRUE(smells_of_hang(hang) && concerns_workers(hang));
}

TEST(FailureReport, AFailureSurvivesTheWayThroughTheStore) {
  Failure failure = sample();
  failure.restart = true;
  failure.restarts = 3;
  failure.detail = "ValueError: \xff \"quoted\"";
  failure.frames = {R"(  File "train.py", line 3, in main)", "    step()"};
  failure.last_lines = {"config is wrong"};
  failure.causes = {"KeyError: 'k' (t.py:3 in f)"};
  failure.members = {"TypeError: a"};
  failure.note = "a full disk";
  Failure expected = failure;
  expected.detail = "ValueError: \xEF\xBF\xBD \"quoted\"";
  EXPECT_EQ(*parse_failure(to_json(failure)), expected);
}

TEST(FailureReport, ATextWithoutTheCountIsReadToo) {
  EXPECT_EQ(parse_failure(R"({"kind":"worker","exit_code":7,"restart":true})")->restarts, 0);
  EXPECT_EQ(parse_failure(R"({"kind":"worker","exit_code":7,"restart":true,"restarts":-1})")->restarts, 0);
}

TEST(FailureReport, ForeignBytesInTheAbortKeyAreRefused) {
  for (const char* text : {"", "1", "[]", "{}", R"({"kind": "worker"})", R"({"kind": "odd", "exit_code": 1})",
                           R"({"kind": "worker", "exit_code": 0})", R"({"kind": "worker", "exit_code": 256})",
                           R"({"kind": 3, "exit_code": 7})"})
    EXPECT_EQ(parse_failure(text).error().code, ErrorCode::protocol) << text;
}

TEST(FailureReport, WrongTypesInOtherFieldsDoNoHarm) {
  const auto failure = parse_failure(R"({"kind":"worker","exit_code":7,"rank":"x","host":5,"pid":99999999999})");
  ASSERT_TRUE(failure);
  EXPECT_FALSE(failure->rank.known());
  EXPECT_EQ(failure->host, "");
  EXPECT_EQ(failure->pid, 0);
}

TEST(FailureReport, ControlCharactersDoNotReachTheTerminal) {
  const auto failure = parse_failure(R"({"kind":"worker","exit_code":7,"host":"a\u001b[31mb\n\u009b\u00e9"})");
  EXPECT_EQ(failure->host, "a [31mb   \xC3\xA9");
}

TEST(FailureReport, DescribesAWorkerByRankNodeAndEnd) {
  EXPECT_EQ(describe(sample()), "rank 3 (local rank 1) on node 1 (host n1), pid 42: signal 11 (SIGSEGV)");
}

TEST(FailureReport, DescribesANodeWithoutAWorker) {
  Failure failure;
  failure.node_rank = NodeRank(2);
  failure.what = "launch was told to stop by SIGTERM";
  EXPECT_EQ(describe(failure), "node 2: launch was told to stop by SIGTERM");
}

TEST(FailureReport, DescribesWhatHappenedAtNoKnownNode) {
  Failure failure;
  failure.node_rank = NodeRank::none();
  failure.host = "n2";
  failure.what = "the program is not found";
  EXPECT_EQ(describe(failure), "host n2: the program is not found");
  failure.host.clear();
  failure.what = "n3 has left";
  EXPECT_EQ(describe(failure), "n3 has left");
  EXPECT_EQ(*parse_failure(to_json(failure)), failure);
}

TEST(FailureReport, ReadsBothFormsOfErrorFiles) {
  EXPECT_EQ(error_message(R"({"message": {"message": "ValueError: x", "extraInfo": {}}})"), "ValueError: x");
  EXPECT_EQ(error_message(R"({"message": "plain", "timestamp": 1})"), "plain");
  for (const char* text : {"", "{", "[]", "{}", R"({"message": 3})", R"({"message": {"message": 3}})"})
    EXPECT_EQ(error_message(text), "") << text;
}

TEST(FailureReport, ReadsTheTracebackOfARecordedError) {
  EXPECT_EQ(error_traceback(R"({"message": {"message": "x", "extraInfo": {"py_callstack": "Traceback\nx\n"}}})"),
            "Traceback\nx\n");
  for (const char* text : {"", "{", "[]", R"({"message": "x"})", R"({"message": {"extraInfo": 3}})",
                           R"({"message": {"extraInfo": {"py_callstack": 3}}})"})
    EXPECT_EQ(error_traceback(text), "") << text;
}

TEST(FailureReport, AbortsAndTimeOutsSmellOfAHang) {
  const auto smells = [](const char* what, const char* detail) {
    Failure failure = sample();
    failure.what = what;
    failure.detail = detail;
    return smells_of_hang(failure);
  };
  EXPECT_TRUE(smells("signal 6 (SIGABRT), it aborted itself", ""));
  EXPECT_TRUE(smells("exit code 1", "DistStoreError: Timed out after 61 seconds"));
  EXPECT_TRUE(
      smells("exit code 1", "torch.distributed.DistBackendError: Watchdog caught collective operation timeout"));
  EXPECT_TRUE(smells("signal 9 (SIGKILL), because its watchdog timer 'step' expired", ""));
  EXPECT_FALSE(smells("signal 11 (SIGSEGV), segmentation fault", ""));
  EXPECT_FALSE(smells("exit code 1", "ValueError: bad batch"));
  Failure lost = sample();
  lost.kind = Failure::Kind::lost;
  lost.what = "SIGABRT";
  EXPECT_FALSE(smells_of_hang(lost));
}

TEST(FailureReport, TheParentGetsTheWorkersErrorWithItsExitCode) {
  Failure failure;
  failure.exit_code = 139;
  failure.what = "segmentation fault";
  EXPECT_EQ(error_for_parent(failure, R"({"message": {"message": "x", "extraInfo": {"timestamp": "1"}}})"),
            R"({"message":{"errorCode":139,"extraInfo":{"timestamp":"1"},"message":"x"}})");
  for (const char* other : {"", "no json", "[]", R"({"message": "plain"})"})
    EXPECT_EQ(error_for_parent(failure, other),
              R"({"message":{"errorCode":139,"extraInfo":{},"message":"node 0: segmentation fault"}})");
}

TEST(FailureReport, AnErrorFileThatIsTooDeepOrTooLongIsAsNone) {
  const auto file = [](std::size_t depth, std::size_t spaces) {
    return R"({"message": {"message": "x", "extraInfo": )" + std::string(depth, '[') + std::string(depth, ']') + "}}" +
           std::string(spaces, ' ');
  };
  EXPECT_EQ(error_message(file(98, 0)), "x");
  for (const std::string& text : {file(99, 0), file(400'000, 0), file(1, std::size_t{1024} * 1024)}) {
    EXPECT_EQ(error_message(text), "");
    EXPECT_EQ(error_traceback(text), "");
    EXPECT_EQ(error_for_parent(Failure{}, text), error_for_parent(Failure{}, ""));
  }
}

TEST(FailureReport, AFailureWithAllTextsAtTheirLongestIsRead) {
  Failure failure = sample();
  std::string longest;
  while (longest.size() + 2 <= 2000) longest += "\xC3\xA9";
  for (std::string* text : {&failure.host, &failure.what, &failure.why_final, &failure.time, &failure.detail,
                            &failure.error_file, &failure.log_file, &failure.note})
    *text = longest;
  failure.frames.assign(32, longest);
  failure.last_lines.assign(8, longest);
  failure.causes.assign(8, longest);
  failure.members.assign(8, longest);
  EXPECT_EQ(*parse_failure(to_json(failure)), failure);
}

TEST(FailureReport, ALostPeerIsAnotherRank) {
  Failure failure;
  failure.detail = "RuntimeError: [/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.7]:5868";
  EXPECT_TRUE(lost_its_peer(failure) && is_due_to_others(failure));
  EXPECT_FALSE(timed_out(failure));
  failure.detail += "; timeout";
  EXPECT_FALSE(lost_its_peer(failure)) << "it timed out";
  failure.detail = "requests.exceptions.ConnectionError: Connection refused";
  EXPECT_FALSE(lost_its_peer(failure));
  failure.detail = "RuntimeError: NCCL communicator was aborted";
  EXPECT_FALSE(lost_its_peer(failure));
}

TEST(FailureReport, ATimeOutIsThatOfAWaitForOtherRanksOnlyIfItSaysSo) {
  const auto with = [](const char* detail, std::vector<std::string> frames = {}) {
    Failure failure;
    failure.detail = detail;
    failure.frames = std::move(frames);
    return timed_out(failure);
  };
  EXPECT_TRUE(with("RuntimeError: [/x/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 3000ms for recv"));
  EXPECT_TRUE(with("torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 joined"));
  EXPECT_TRUE(with("RuntimeError: Watchdog caught collective operation timeout"));
  EXPECT_TRUE(
      with("RuntimeError: wait timeout after 5000ms", {R"(  File "/x/torch/distributed/rendezvous.py", line 9)"}));
  Failure outer;
  outer.detail = "RuntimeError: step failed";
  outer.causes = {"RuntimeError: gloo: Timed out waiting 3000ms for recv (t.py:3 in f)"};
  EXPECT_TRUE(timed_out(outer));
  EXPECT_TRUE(speaks_of_others(outer));
  EXPECT_FALSE(with("requests.exceptions.ReadTimeout: Read timed out. (read timeout=10)"));
  EXPECT_FALSE(with("TimeoutError: lock", {R"(  File "train.py", line 9, in load)"}));
  EXPECT_FALSE(with("RuntimeError: NCCL error: unhandled system error"));
}

}  // namespace launch::failure_report_test

#include "launch/core/events/torchelastic_event.hpp"

#include <gtest/gtest.h>

namespace launch::torchelastic_event_test {

const TorchelasticContext context{"436af51b", "default", "localhost", "c10d", "sh"};

// The lines are torchrun 2.13's own, with shorter ids.
TEST(TorchelasticEvent, TheAgentBeforeItHasRanks) {
  TorchelasticEvent event;
  event.state = "RENDEZVOUS";
  event.duration_ms = 91.19135800006006;
  EXPECT_EQ(torchelastic_line(context, event),
            R"({"name": "torchelastic.worker.status.RENDEZVOUS", "source": "AGENT", "timestamp": 0, "metadata": {)"
            R"("run_id": "436af51b", "global_rank": null, "group_rank": null, "worker_id": null, "role": "default", )"
            R"("hostname": "localhost", "state": "RENDEZVOUS", "total_run_time": 0, "rdzv_backend": "c10d", )"
            R"("raw_error": null, "metadata": "{\"group_world_size\": null, \"entry_point\": \"sh\"}", )"
            R"("agent_restarts": 0, "duration_ms": 91.19135800006006}})");
}

TEST(TorchelasticEvent, AWorkerThatStarts) {
  TorchelasticEvent event;
  event.state = "START";
  event.group_rank = NodeRank(0);
  event.group_world_size = 1;
  event.worker = TorchelasticWorker{.global_rank = GlobalRank(1),
                                    .local_rank = LocalRank(1),
                                    .role_rank = 1,
                                    .role_world_size = 2,
                                    .pid = 5294,
                                    .failed_with = std::nullopt};
  EXPECT_EQ(
      torchelastic_line(context, event),
      R"({"name": "torchelastic.worker.status.START", "source": "WORKER", "timestamp": 0, "metadata": {)"
      R"("run_id": "436af51b", "global_rank": 1, "group_rank": 0, "worker_id": "5294", "role": "default", )"
      R"("hostname": "localhost", "state": "START", "total_run_time": 0, "rdzv_backend": "c10d", )"
      R"("raw_error": null, "metadata": "{\"group_world_size\": 1, \"entry_point\": \"sh\", \"local_rank\": [1], )"
      R"(\"role_rank\": [1], \"role_world_size\": [2], \"exit_code\": [null], \"worker_pid\": [null]}", )"
      R"("agent_restarts": 0, "duration_ms": null}})");
}

TEST(TorchelasticEvent, AWorkerThatFails) {
  TorchelasticEvent event;
  event.state = "FAILED";
  event.group_rank = NodeRank(0);
  event.group_world_size = 1;
  event.total_run_time = 2;
  event.agent_restarts = 1;
  event.worker = TorchelasticWorker{.global_rank = GlobalRank(0),
                                    .local_rank = LocalRank(0),
                                    .role_rank = 0,
                                    .role_world_size = 2,
                                    .pid = 5577,
                                    .failed_with = -15};
  event.raw_error = torchelastic_raw_error("", true);
  EXPECT_EQ(torchelastic_line(context, event),
            R"({"name": "torchelastic.worker.status.FAILED", "source": "WORKER", "timestamp": 0, "metadata": {)"
            R"("run_id": "436af51b", "global_rank": 0, "group_rank": 0, "worker_id": "5577", "role": "default", )"
            R"("hostname": "localhost", "state": "FAILED", "total_run_time": 2, "rdzv_backend": "c10d", )"
            R"("raw_error": "{\"message\": \"<NONE>\", \"errorTraits\": {\"category\": \"system_terminated_error\", )"
            R"(\"retryability\": \"False\"}}", "metadata": "{\"group_world_size\": 1, \"entry_point\": \"sh\", )"
            R"(\"local_rank\": [0], \"role_rank\": [0], \"role_world_size\": [2], \"exit_code\": [-15], )"
            R"(\"worker_pid\": [5577]}", "agent_restarts": 1, "duration_ms": null}})");
}

// Python's repr, which is the shortest that reads back.
TEST(TorchelasticEvent, NumbersAreWrittenAsPythonDoes) {
  for (const auto& [value, text] : std::vector<std::pair<double, std::string>>{{0.010946, "0.010946"},
                                                                               {0.0, "0.0"},
                                                                               {-0.0, "-0.0"},
                                                                               {3.0, "3.0"},
                                                                               {1e-05, "1e-05"},
                                                                               {0.0001, "0.0001"},
                                                                               {1e15, "1000000000000000.0"},
                                                                               {1e16, "1e+16"},
                                                                               {-1.5e-7, "-1.5e-07"},
                                                                               {5e-324, "5e-324"},
                                                                               {0.1 + 0.2, "0.30000000000000004"}}) {
    TorchelasticEvent event;
    event.duration_ms = value;
    const std::string line = torchelastic_line(context, event);
    EXPECT_EQ(line.substr(line.rfind(": ") + 2), text + "}}");
  }
  EXPECT_EQ(torchelastic_raw_error(R"({"a": [10, -7, 1.50, 2E3, "1.50,x"], "b1": 0.010946})", false),
            R"({"a": [10, -7, 1.5, 2000.0, "1.50,x"], "b1": 0.010946})");
}

TEST(TorchelasticEvent, TextsAreWrittenAsPythonDoes) {
  TorchelasticEvent event;
  event.state = "START";
  const std::string line = torchelastic_line({"\x7f", "tr\"\xc3\xa9:,", "\xff", "static", "a\\"}, event);
  EXPECT_NE(line.find(R"("run_id": "\u007f")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("role": "tr\"\u00e9:,")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("hostname": "\ufffd")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"(\"entry_point\": \"a\\\\\"})"), std::string::npos) << line;
}

TEST(TorchelasticEvent, AnErrorFileIsWrittenAgain) {
  EXPECT_EQ(
      torchelastic_raw_error(R"({"message":{"message":"a: b\u00e4","extraInfo":{"timestamp":"1"}},"n":[1,2]})", true),
      R"({"message": {"message": "a: b\u00e4", "extraInfo": {"timestamp": "1"}}, "n": [1, 2]})");
  EXPECT_EQ(torchelastic_raw_error("", false), R"({"message": "<NONE>"})");
  EXPECT_EQ(torchelastic_raw_error("no json", false), R"({"message": "<NONE>"})");
  const std::string deep(50'000, '[');
  EXPECT_EQ(torchelastic_raw_error(R"({"a":)" + deep + std::string(50'000, ']') + "}", false).substr(0, 6),
            R"({"a": )");
}

}  // namespace launch::torchelastic_event_test

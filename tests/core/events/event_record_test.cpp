#include "launch/core/events/event_record.hpp"

#include <csignal>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace launch::event_record_test {

using namespace std::chrono_literals;

const EventContext context{.run_id = "job \"7\"", .node_rank = NodeRank(1), .host = "n1", .restart = 2};
const Instant moment{Time(12s + 34567us), WallTime(1'783'094'065s + 5us)};

// What comes after the common fields, which are as they must be.
std::string own_fields(std::string_view name, const JobEvent& event) {
  const std::string line = to_json_line(context, moment, event);
  const std::string common = "{\"event\":\"" + std::string(name) +
                             "\",\"time\":1783094065.000005,\"monotonic\":12.034567,\"run_id\":\"job \\\"7\\\"\","
                             "\"node_rank\":1,\"host\":\"n1\",\"restart\":2,";
  EXPECT_TRUE(line.starts_with(common)) << line;
  EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  return line.substr(common.size());
}

TEST(EventRecord, TheJobBegins) {
  EXPECT_EQ(own_fields("job_started", JobStarted{"0.1.0", "t.py", {"python3", "-u", "t.py", "a\nb"}, 2, 4}),
            R"("version":"0.1.0","program":"t.py","command":["python3","-u","t.py","a\nb"],"nnodes":2,)"
            R"("nproc_per_node":4})");
}

TEST(EventRecord, TheRendezvousIsFormed) {
  Round round;
  round.assignment = {.group_rank = NodeRank(1),
                      .group_world_size = 2,
                      .base_global_rank = GlobalRank(4),
                      .world_size = 8,
                      .base_role_rank = 4,
                      .role_world_size = 8};
  round.restarts = 2;
  EXPECT_EQ(own_fields("rendezvous_formed", RendezvousFormed{round, 1500ms}),
            R"("group_rank":1,"nodes":2,"world_size":8,"base_rank":4,"restarts":2,"duration_s":1.500000})");
}

TEST(EventRecord, WorkersBeginAndEnd) {
  const WorkerStarted worker{GlobalRank(5), LocalRank(1), 4711};
  EXPECT_EQ(own_fields("worker_started", worker), R"("rank":5,"local_rank":1,"pid":4711})");
  EXPECT_EQ(own_fields("worker_exited", WorkerOver{worker, {ExitStatus::Kind::exited, 7}, 60s}),
            R"("rank":5,"local_rank":1,"pid":4711,"exit_code":7,"signal":null,"signal_name":null,)"
            R"("after_s":60.000000})");
  EXPECT_EQ(own_fields("worker_exited", WorkerOver{worker, {ExitStatus::Kind::signalled, SIGSEGV}, 1us}),
            R"("rank":5,"local_rank":1,"pid":4711,"exit_code":null,"signal":11,"signal_name":"SIGSEGV",)"
            R"("after_s":0.000001})");
}

TEST(EventRecord, WorkersAreToldToEnd) {
  EXPECT_EQ(own_fields("stopping", Stopping{SIGTERM, "rank 0: exit code 1"}),
            R"("signal":15,"signal_name":"SIGTERM","reason":"rank 0: exit code 1"})");
  EXPECT_EQ(own_fields("killing", Killing{3}), R"("pids":3})");
  EXPECT_EQ(own_fields("restart", Restarting{"rank 0: exit code 1", 3}),
            R"("reason":"rank 0: exit code 1","number":3})");
}

TEST(EventRecord, Progress) {
  EXPECT_EQ(own_fields("progress", Progressed{{1180, 1200.5, 9.93}}),
            R"("least_step":1180,"most_step":1200.5,"rate":9.93})");
  EXPECT_EQ(own_fields("progress", Progressed{{1, 1234567, std::nullopt}}),
            R"("least_step":1,"most_step":1234567,"rate":null})");
}

TEST(EventRecord, Hangs) {
  EXPECT_EQ(own_fields("hang", Hanging{20s, {"rank 0: in f", "a\n"}}),
            R"("quiet_s":20.000000,"places":["rank 0: in f","a\n"]})");
  EXPECT_EQ(own_fields("host_moved", HostChange{"n0", "n1", 2, "n1:41233"}),
            R"("from":"n0","to":"n1","at":"n1:41233","term":2})");
  EXPECT_EQ(own_fields("hang", Hanging{1s, {}}), R"("quiet_s":1.000000,"places":[]})");
}

TEST(EventRecord, TheLastWorkerHasCome) {
  EXPECT_EQ(own_fields("startup", StartedUp{64, 14300ms, 1500ms, {"rank 7 on \"n1\"", "b"}}),
            R"("world_size":64,"formed_s":14.300000,"median_s":1.500000,"slowest":["rank 7 on \"n1\"","b"]})");
  EXPECT_EQ(own_fields("startup", StartedUp{2, 1s, std::nullopt, {}}),
            R"("world_size":2,"formed_s":1.000000,"median_s":null,"slowest":[]})");
}

TEST(EventRecord, AUserAsksForSomething) {
  EXPECT_EQ(own_fields("user_asked", UserAsked{"restart", "launch-ctl (pid 7 on n1)"}),
            R"x("what":"restart","by":"launch-ctl (pid 7 on n1)"})x");
}

TEST(EventRecord, FailuresAreTheOnesOfTheReport) {
  Failure failure;
  failure.exit_code = 7;
  failure.what = "exit code 7";
  EXPECT_EQ(own_fields("peer_failed", PeerFailure{failure}), "\"failure\":" + to_json(failure) + "}");
  EXPECT_EQ(own_fields("job_ended", JobEnded{7, failure}), "\"exit_code\":7,\"failure\":" + to_json(failure) + "}");
  EXPECT_EQ(own_fields("job_ended", JobEnded{0, std::nullopt}), "\"exit_code\":0,\"failure\":null}");
}

TEST(EventRecord, BeforeTheRendezvousANodeMayHaveNoRank) {
  EXPECT_EQ(to_json_line({"j", std::nullopt, "h", 0}, {}, Killing{1}),
            R"({"event":"killing","time":0.000000,"monotonic":0.000000,"run_id":"j","node_rank":null,"host":"h",)"
            R"("restart":0,"pids":1})");
}

TEST(EventRecord, BytesThatAreNoTextAreReplaced) {
  const std::string line = to_json_line({"\xff\xc3\xa9", NodeRank(0), "h\x1b", 0}, {}, Killing{1});
  EXPECT_NE(line.find(R"("run_id":"\ufffd\u00e9")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("host":"h\u001b")"), std::string::npos) << line;
}

}  // namespace launch::event_record_test

#include "launch/core/control/node_report.hpp"

#include <gtest/gtest.h>

namespace launch::node_report_test {
namespace {

NodeReport a_report() {
  NodeReport report;
  report.node_rank = 3;
  report.host = "n3";
  report.run_id = "job";
  report.program = "./train.py";
  report.pid = 77;
  report.state = "running";
  report.since = "2026-11-27 06:00:00";
  report.age_s = 1.5;
  report.round = 2;
  report.restart = 1;
  report.nnodes = 4;
  report.world_size = 8;
  report.quiet_s = 2.5;
  report.quiet_by_steps = true;
  WorkerReport worker;
  worker.rank = 6;
  worker.pid = 78;
  worker.state = "running";
  worker.cpu_percent = 99.5;
  worker.memory_bytes = 1 << 20;
  worker.gpu_memory_bytes = std::int64_t{80} << 30;
  worker.last_line = "step 1";
  worker.last_line_age_s = 0.25;
  worker.step = 1200;
  worker.rate = 9.5;
  worker.step_age_s = 0.5;
  worker.step_jump = 10;
  worker.stack = {"f (x.py:3)", "main (x.py:9)"};
  report.workers.push_back(worker);
  return report;
}

TEST(NodeReport, IsReadAsItWasWritten) {
  const NodeReport report = a_report();
  const auto read = parse_node_report(to_json(report));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(report), to_json(*read));
  EXPECT_EQ("step 1", read->workers.at(0).last_line);
  EXPECT_EQ(std::int64_t{80} << 30, read->workers.at(0).gpu_memory_bytes);
  EXPECT_EQ(2.5, read->quiet_s);
  EXPECT_TRUE(read->quiet_by_steps);
  EXPECT_EQ(1200, read->workers.at(0).step);
  EXPECT_EQ(10, read->workers.at(0).step_jump);
  EXPECT_EQ(2U, read->workers.at(0).stack.size());
}

TEST(NodeReport, IsOneLineWhateverAWorkerHasWritten) {
  NodeReport report = a_report();
  report.workers[0].last_line = "a\nb\x1b[2J\xff";
  const std::string json = to_json(report);
  EXPECT_EQ(std::string::npos, json.find('\n'));
  EXPECT_TRUE(parse_node_report(json));
}

TEST(NodeReport, LinesThatAreNoReportAreLeftOut) {
  const auto reports = parse_node_reports(to_json(a_report()) + "\n\nrubbish\n[]\n" + to_json(a_report()) + "\n");
  EXPECT_EQ(2U, reports.size());
}

TEST(NodeReport, FindsTheNodeThatAUserMeans) {
  std::vector<NodeReport> nodes(3);
  for (int rank = 0; rank < 3; ++rank) nodes[static_cast<std::size_t>(rank)].node_rank = rank;
  nodes[0].host = "n0";
  nodes[1].host = nodes[2].host = "n1";
  EXPECT_EQ(0, *find_node(nodes, "n0"));
  EXPECT_EQ(2, *find_node(nodes, "2"));
  EXPECT_EQ("no node n7; the nodes are 0 (n0), 1 (n1), 2 (n1)", find_node(nodes, "n7").error().message);
  EXPECT_EQ("host n1 has several nodes: say one of 1, 2", find_node(nodes, "n1").error().message);
  EXPECT_EQ(2, exit_code(find_node(nodes, "n1").error().code));
}

TEST(NodeReport, TellsTwoJobsOfOneIdApart) {
  NodeReport one;
  one.node_rank = 1;
  one.round = 2;
  NodeReport other = one;
  EXPECT_TRUE(are_of_two_jobs(one, other));
  other.node_rank = 0;
  EXPECT_FALSE(are_of_two_jobs(one, other));
  other.node_rank = 1;
  other.round = 1;
  EXPECT_FALSE(are_of_two_jobs(one, other)) << "it may still end the workers of an older round";
  one.state = other.state = "running";
  EXPECT_TRUE(are_of_two_jobs(one, other)) << "one job has restarted, the other one has not";
  one.node_rank = other.node_rank = -1;
  other.round = one.round;
  EXPECT_FALSE(are_of_two_jobs(one, other)) << "none has joined";
}

TEST(NodeReport, CarriesNewLines) {
  NodeReport report = a_report();
  report.more = true;
  report.note = "about it";
  report.workers[0].log = {{"stdout", "one\ntwo\n"}, {"stderr", "\x1b[31mred\n"}};
  const auto read = parse_node_report(to_json(report));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->more);
  EXPECT_EQ("about it", read->note);
  ASSERT_EQ(2U, read->workers[0].log.size());
  EXPECT_EQ("stderr", read->workers[0].log[1].stream);
  EXPECT_EQ("\x1b[31mred\n", read->workers[0].log[1].text);
}

}  // namespace
}  // namespace launch::node_report_test

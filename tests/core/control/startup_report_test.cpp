#include "launch/core/control/startup_report.hpp"

#include "node_reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::startup_report_test {

using testing::AllOf;
using testing::HasSubstr;

// Two nodes of two ranks; all but rank 3 have come.
std::vector<NodeReport> two_nodes() {
  std::vector<NodeReport> nodes;
  for (int rank = 0; rank < 2; ++rank) {
    NodeReport node = running_node(rank, 2, 2, {});
    node.startup.addresses = {"10.0.0." + std::to_string(rank + 1)};
    for (WorkerReport& worker : node.workers) {
      worker.startup.pids = {worker.pid, worker.pid + 5000};
      worker.startup.started_age_s = 12.0;
      worker.startup.first_output_age_s = 11.5;
    }
    nodes.push_back(node);
  }
  nodes[0].startup.clients = {
      {"127.0.0.1", true, 1000, 9.5}, {"10.0.0.1", true, 6001, 9.0}, {"10.0.0.2", false, 1002, 2}};
  return nodes;
}

TEST(StartupReport, IsTheFactsOfATimeLine) {
  const StartupTable table = startup_of(two_nodes());
  EXPECT_EQ(4, table.world_size);
  EXPECT_EQ(12, table.now);
  EXPECT_EQ("n1", table.hosts.at(1));
  ASSERT_EQ(4U, table.ranks.size());
  EXPECT_EQ(2.5, table.ranks[0].store);
  EXPECT_EQ(3.0, table.ranks[1].store) << "by a process that the worker has started";
  EXPECT_EQ(10.0, table.ranks[2].store);
  EXPECT_FALSE(table.ranks[3].store);
  EXPECT_FALSE(table.formed);
}

TEST(StartupReport, TheWorkersStoreIsThatOfTheNodeWithMostClients) {
  std::vector<NodeReport> nodes = two_nodes();
  std::swap(nodes[0], nodes[1]);
  EXPECT_EQ(2.5, startup_of(nodes).ranks[0].store);
}

TEST(StartupReport, ANodeThatHasNotAnsweredHasNoRanks) {
  std::vector<NodeReport> nodes = two_nodes();
  nodes[1] = NodeReport();
  nodes[1].node_rank = 1;
  nodes[1].fault = "torchrun's node: it cannot be asked";
  EXPECT_EQ(2U, startup_of(nodes).ranks.size());
  EXPECT_THAT(timeline_screen({nodes}), HasSubstr("node 1: torchrun's node: it cannot be asked\n"));
}

TEST(StartupReport, ForScriptsEachWorkerHasItsOwnAge) {
  const std::vector<NodeReport> nodes = with_store_ages(two_nodes());
  EXPECT_EQ(9.5, nodes[0].workers[0].startup.store_age_s);
  EXPECT_EQ(2, nodes[1].workers[0].startup.store_age_s);
  EXPECT_FALSE(nodes[1].workers[1].startup.store_age_s);
  EXPECT_TRUE(nodes[0].startup.clients.empty());
  EXPECT_TRUE(nodes[0].workers[0].startup.pids.empty());
}

TEST(StartupReport, TheScreenIsAboutTheJob) {
  EXPECT_THAT(timeline_screen({two_nodes()}),
              AllOf(testing::StartsWith("job job: train.py; 2 nodes"), HasSubstr("\n1 of 4 ranks have not come"),
                    HasSubstr("rank 3 on node 1 (n1) has not come: 12.0 s since its exec")));
}

TEST(StartupReport, FewClientsAreAllTold) {
  NodeReport node = two_nodes()[0];
  limit_clients(node);
  EXPECT_EQ(3U, node.startup.clients.size());
  EXPECT_EQ(0, node.startup.clients_left_out);
}

TEST(StartupReport, ThousandsOfClientsFitIntoAnAnswer) {
  NodeReport node = two_nodes()[0];
  node.startup.clients.clear();
  for (std::uint32_t pid = 0; pid < 5000; ++pid)
    node.startup.clients.push_back({"10.0.0." + std::to_string(pid % 250), false, 4'000'000 + pid, 1000 - 0.001 * pid});
  limit_clients(node);
  const std::size_t told = node.startup.clients.size();
  EXPECT_GT(told, 2500U);
  EXPECT_LT(to_json(node).size(), 64U * 1024);
  EXPECT_EQ(5000 - static_cast<int>(told), node.startup.clients_left_out);
  EXPECT_THAT(timeline_screen({{node}}), HasSubstr(" more processes have come than node 0 n0 can tell"));
  const auto read = parse_node_report(to_json(node));
  ASSERT_TRUE(read);
  ASSERT_EQ(told, read->startup.clients.size());
  for (std::size_t i = 0; i < told; i += 500) {
    EXPECT_EQ(node.startup.clients[i].address, read->startup.clients[i].address);
    EXPECT_EQ(node.startup.clients[i].pid, read->startup.clients[i].pid);
    EXPECT_NEAR(node.startup.clients[i].age_s, read->startup.clients[i].age_s, 0.001);
  }
  EXPECT_EQ(node.startup.clients_left_out, read->startup.clients_left_out);
  EXPECT_EQ(node.workers[1].startup.pids, read->workers[1].startup.pids);
  EXPECT_EQ(11.5, read->workers[1].startup.first_output_age_s);
}

}  // namespace launch::startup_report_test

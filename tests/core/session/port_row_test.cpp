#include "launch/core/session/port_row.hpp"

#include "../../support/meeting.hpp"

#include "launch/core/cluster/start_values.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::port_row_test {

using namespace play;
using namespace std::chrono_literals;

Config node_of(const std::string& run_id, int rank) {
  Config config = static_config(rank, 2, 2);
  config.run_id = run_id;
  std::get<StaticChoice>(config.meeting).ports = {29500, 29501, 29502};
  return config;
}

Meeting::Node* join(Meeting& meeting, Config config) {
  Meeting::Node& node = meeting.add(std::move(config));
  EXPECT_TRUE(node.session->open());
  node.session->feed(JoinRound{});
  return &node;
}

// The port at which both nodes of the job meet.
std::optional<std::uint16_t> port_of(Meeting& meeting, const std::vector<Meeting::Node*>& nodes) {
  std::optional<std::uint16_t> port;
  for (Meeting::Node* node : nodes) {
    const auto done = meeting.take<RendezvousDone>(*node, 20s);
    if (!done || !done->round.master || (port && *port != done->round.master->port)) return std::nullopt;
    port = done->round.master->port;
  }
  return port;
}

TEST(PortRow, TheFirstPortIsTakenIfItIsFree) {
  Meeting meeting;
  const std::vector<Meeting::Node*> nodes{join(meeting, node_of("a", 0)), join(meeting, node_of("a", 1))};
  EXPECT_EQ(port_of(meeting, nodes), 29500);
}

TEST(PortRow, APortOfAnotherProgramIsPassedOver) {
  for (const bool host_first : {true, false}) {
    Meeting meeting;
    const auto taken = meeting.network().listen("n0", 29500);
    const int first = host_first ? 0 : 1;
    const std::vector<Meeting::Node*> nodes{join(meeting, node_of("a", first)), join(meeting, node_of("a", 1 - first))};
    EXPECT_EQ(port_of(meeting, nodes), 29501);
  }
}

// Three jobs on the same two nodes, with the same row; the guests of one come before its host.
TEST(PortRow, JobsThatBeginAtOnceDoNotMeet) {
  Meeting meeting;
  std::map<std::string, std::vector<Meeting::Node*>> jobs;
  for (const int rank : {1, 0})
    for (const char* run_id : {"a", "b", "c"}) {
      jobs[run_id].push_back(join(meeting, node_of(run_id, rank)));
    }
  std::set<std::uint16_t> ports;
  for (auto& [run_id, nodes] : jobs) {
    const auto port = port_of(meeting, nodes);
    ASSERT_TRUE(port) << run_id;
    ports.insert(*port);
  }
  EXPECT_EQ(ports.size(), 3U);
}

// A guest that comes before its host has seen the store of another job. It does not look at all ports, a second each,
// before it finds its own.
TEST(PortRow, AHostThatComesLaterIsFoundSoon) {
  Meeting meeting;
  const auto in_long_row = [](const char* run_id, int rank) {
    Config config = node_of(run_id, rank);
    auto& nodes = std::get<StaticChoice>(config.meeting);
    nodes.ports = ports_by("sixteen ports");
    nodes.store.port = nodes.ports.front();
    return config;
  };
  (void)join(meeting, in_long_row("b", 0));
  Meeting::Node* const guest = join(meeting, in_long_row("a", 1));
  EXPECT_FALSE(meeting.take<RendezvousDone>(*guest, 10s));
  (void)join(meeting, in_long_row("a", 0));
  EXPECT_TRUE(meeting.take<RendezvousDone>(*guest, 4s));
}

TEST(PortRow, AHundredJobsOfACluster) {
  Meeting meeting;
  std::map<int, std::vector<Meeting::Node*>> jobs;
  for (int job = 1; job <= 100; ++job)
    for (const int rank : {1, 0}) {
      Config config = node_of(fmt::format("{}.0", job), rank);
      auto& nodes = std::get<StaticChoice>(config.meeting);
      nodes.ports = ports_by(fmt::format("slurm tiny {}", config.run_id));
      nodes.store.port = nodes.ports.front();
      jobs[job].push_back(join(meeting, std::move(config)));
    }
  std::set<std::uint16_t> ports;
  for (auto& [job, nodes] : jobs) {
    const auto port = port_of(meeting, nodes);
    ASSERT_TRUE(port) << job;
    ports.insert(*port);
  }
  EXPECT_EQ(ports.size(), jobs.size());
}

TEST(PortRow, IfAllAreTakenTheErrorComesBeforeAnythingElse) {
  Meeting meeting;
  const auto first = meeting.network().listen("n0", 29500);
  const auto second = meeting.network().listen("n0", 29501);
  const auto third = meeting.network().listen("n0", 29502);
  EXPECT_FALSE(meeting.add(node_of("a", 0)).session->open());
}

TEST(PortRow, AGuestWithoutAHostGivesUpAtItsTimeOut) {
  Meeting meeting;
  Config config = node_of("a", 1);
  config.rendezvous_timeout = 3s;
  const auto failed = meeting.take<RendezvousFailed>(*join(meeting, std::move(config)), 4s);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->error.code, ErrorCode::timeout);
}

Config elastic_node(const std::string& run_id, int number, int pid) {
  Config config = elastic_config("n" + std::to_string(number), pid, {2, 2});
  config.run_id = run_id;
  C10dChoice& choice = c10d_of(config);
  choice.settings.run_id = run_id;
  choice.is_host = number == 0;
  set_ports(config, {29500, 29501, 29502});
  choice.store.port = 29500;
  return config;
}

// As with static jobs, the guests of one come before its host.
TEST(PortRow, ElasticJobsThatBeginAtOnceDoNotMeet) {
  Meeting meeting;
  std::map<std::string, std::vector<Meeting::Node*>> jobs;
  int pid = 100;
  for (const int number : {1, 0})
    for (const char* run_id : {"a", "b", "c"})
      jobs[run_id].push_back(join(meeting, elastic_node(run_id, number, ++pid)));
  for (auto& [run_id, nodes] : jobs)
    for (Meeting::Node* node : nodes) {
      const auto done = meeting.take<RendezvousDone>(*node, 30s);
      ASSERT_TRUE(done) << run_id;
      EXPECT_EQ(done->round.assignment.group_world_size, 2) << run_id;
    }
}

TEST(PortRow, AnElasticJobPassesOverThePortOfAnotherProgram) {
  Meeting meeting;
  const auto taken = meeting.network().listen("n0", 29500);
  const std::vector<Meeting::Node*> nodes{join(meeting, elastic_node("a", 1, 101)),
                                          join(meeting, elastic_node("a", 0, 102))};
  for (Meeting::Node* node : nodes) EXPECT_TRUE(meeting.take<RendezvousDone>(*node, 30s));
}

// Where any node may host the store, they all look at one port.
TEST(PortRow, AnElasticJobWithoutAChosenHostHasNone) {
  Config config = elastic_config("n0", 100, {2, 2});
  c10d_of(config).is_host.reset();
  set_ports(config, {29500, 29501});
  EXPECT_TRUE(c10d_of(config).ports.empty());
}

}  // namespace launch::port_row_test

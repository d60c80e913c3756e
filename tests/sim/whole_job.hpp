// A whole job of real nodes (core/node) on a virtual network, and what must never be, looked at after every step:
// workers of two rounds at once, ranks that are not a permutation, restart counts that differ, verdicts that contradict
// each other, and an end that does not come. All of it follows from one seed.
#pragma once

#include "configs.hpp"
#include "node_host.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch::sim {

struct WholeScenario {
  bool elastic = false;
  int nodes = 3;
  int fewest = 3;  // of a c10d job
  int max_restarts = 0;
  Duration heartbeat = std::chrono::seconds(30);
  Duration longest_delay = std::chrono::milliseconds(2);  // of a message
};

class WholeJob {
 public:
  WholeJob(std::uint64_t seed, const WholeScenario& scenario);
  WholeJob(const WholeJob&) = delete;
  WholeJob& operator=(const WholeJob&) = delete;

  play::Events& events() { return events_; }
  play::Network& network() { return network_; }

  // On a host of its own, called n0, n1, ...; `plan`: of its workers in every round.
  play::NodeHost& add(play::NodeHost::Planner planner);
  play::NodeHost& node(std::size_t index) { return *nodes_[index]; }
  std::size_t count() const { return nodes_.size(); }
  std::vector<play::NodeHost*> alive();
  // Its machine stands still. Soon after it has woken, nothing may run there that is not of the others' round.
  void freeze(std::size_t index, Duration duration);
  // Faults of the world that make two nodes see different things: from then on their verdicts may differ.
  void allow_different_ends() { same_ends_ = false; }
  // Something harmless may last that long: what comes later is late.
  void unquiet(Duration until) { quiet_at_ = std::max(quiet_at_, later(events_.now(), until)); }

  // Until all nodes have ended; a fault if they have not `limit` after the last trouble.
  void run_to_end(Duration limit);
  std::vector<std::string> faults() const { return faults_; }
  // How often workers were started on a node.
  int started_rounds() const { return started_; }
  // The last facts, for a failure.
  std::string story() const;

 private:
  struct Running {
    Round round;
    const play::NodeHost* node;
  };

  void fault(const std::string& what);
  void started(const play::NodeHost& node, const Round& round);
  void gone(const play::NodeHost& node);
  void ended(const play::NodeHost& node, int code);
  void look_at_all();
  bool is_excused(const play::NodeHost& node);
  void check_pair(const Round& mine, const Running& other, const std::string& who);

  play::Events events_;
  play::Network network_;
  WholeScenario scenario_;
  std::vector<std::unique_ptr<play::NodeHost>> nodes_;
  std::vector<Running> running_;
  int started_ = 0;
  std::optional<int> code_;
  bool same_ends_ = true;
  Time quiet_at_{};
  std::vector<std::string> faults_;
};

}  // namespace launch::sim

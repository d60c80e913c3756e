// A whole job of real nodes (core/node), and of torchrun's as tests/support models them, on a virtual network. It
// checks for what must never happen, most of it after every start of workers: workers of two rounds at once, ranks that
// are not a permutation, restart counts that differ, exit codes that contradict each other, and a job that does not
// end. All of it follows from one seed.
#pragma once

#include "configs.hpp"
#include "node_host.hpp"
#include "torchrun_host.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace launch::sim {

// Where the store of a c10d job is.
enum class Hosting {
  node,      // on n0, which ends the job if it is lost
  launch,    // on a host that is never lost, by launch
  torchrun,  // the same, by torchrun
};

struct WholeScenario {
  bool elastic = false;
  int nodes = 3;
  int fewest = 3;  // of a c10d job
  int max_restarts = 0;
  std::optional<int> most_changes{};  // --max-membership-restarts
  Duration heartbeat = std::chrono::seconds(30);
  Duration longest_delay = std::chrono::milliseconds(2);  // of a message
  Duration join_timeout = std::chrono::seconds(60);
  Duration shutdown = std::chrono::seconds(15);  // --shutdown-timeout
  Hosting hosting = Hosting::node;
  bool moves = true;            // --quorum=host
  bool by_majority = false;     // --quorum=majority
  int listed = 0;               // --rdzv-endpoint names so many hosts, from n0 on; 0: n0 only
  bool joins_wait = false;      // --join=between-restarts
  bool asks = false;            // nodes may ask each other
  bool judges_torchrun = true;  // torchrun's nodes are checked for what must never happen, too
};

class WholeJob {
 public:
  WholeJob(std::uint64_t seed, const WholeScenario& scenario);
  WholeJob(const WholeJob&) = delete;
  WholeJob& operator=(const WholeJob&) = delete;

  play::Events& events() { return events_; }
  play::Network& network() { return network_; }

  // Adds a node on a host of its own, called n0, n1, ...; `planner` plans its workers of every round.
  play::NodeHost& add(play::Planner planner);
  play::TorchrunHost& add_torchrun(play::Planner planner);
  // Adds so many nodes and starts them; `plan`: by the number of the node, too.
  void start(std::size_t nodes, const std::function<play::Plan(std::size_t node, const Round& round)>& plan);
  // The next node is on the host of an earlier one, whose process has ended.
  void reuse_host(std::string host) { host_ = std::move(host); }

  play::AgentHost& node(std::size_t index) { return *nodes_[index]; }
  play::NodeHost& launch_node(std::size_t index);
  bool is_launch(std::size_t index) const;
  std::size_t count() const { return nodes_.size(); }
  std::vector<std::size_t> alive() const;
  // It had workers in the newest round.
  bool took_part_at_last(std::size_t node) const {
    return !begun_.empty() && begun_.contains({begun_.rbegin()->first, node});
  }
  // True if all living nodes run workers, in one round, as far as there is room.
  bool together() const;
  bool run_until_together(Duration limit);
  // How long it takes at most until the store's host misses a node that says nothing more.
  Duration missed_after() const;
  // Pauses its machine. Soon after it has woken, nothing may run there that is not of the others' round.
  void freeze(std::size_t index, Duration duration);
  // Workers of nodes that are warned may save before they go on to another round.
  void allow_time_to_save() { time_to_save_ = true; }
  // For faults of the world that make two nodes see different things: from then on their verdicts may differ.
  void allow_different_ends() { same_ends_ = false; }
  // Trouble may last this long from now; time limits count from its end.
  void unquiet(Duration until) { quiet_at_ = std::max(quiet_at_, later(events_.now(), until)); }
  Time quiet_at() const { return quiet_at_; }

  // Called when a node ends by itself.
  void on_end(std::function<void(std::size_t index)> call) { on_end_ = std::move(call); }

  // Runs until all nodes have ended; a fault if they have not ended `limit` after the last trouble.
  void run_to_end(Duration limit);
  void fault(const std::string& what);
  const std::vector<std::string>& faults() const { return faults_; }
  // How often workers were started on a node.
  int started_rounds() const { return started_; }
  // The most requests of one second to the store that is never lost.
  int busiest_second() const { return store_ ? store_->busiest_second() : 0; }
  int requests() const { return store_ ? store_->requests() : 0; }
  // torchrun's agent, which hosts the store that is otherwise never lost, ends once all are in the exit barrier.
  bool run_until_all_have_ended(std::int64_t round, Duration limit);
  void lose_store() {
    network_.end_store(store_);
    has_lost_store_ = true;
  }
  // The last facts, for a failure.
  std::string story() const;
  std::uint64_t hash() const { return events_.hash(); }

 private:
  struct Running {
    Round round;
    std::size_t node;
  };
  struct Failed {
    std::size_t node;
    Round round;
    Time since;
  };
  using Party = std::multimap<int, Running>;  // by node rank; two of one rank are a fault
  struct Seat {
    std::string role;
    int workers = 1;
    bool by_launch = true;
  };

  std::string new_host();
  Config make_config(const std::string& host) const;
  play::Eyes eyes();
  void started(std::size_t node, const Round& round);
  void meet(const Running& mine);
  void gone(std::size_t node, const Round& round);
  void ended(std::size_t node, int code);
  void compare_verdicts(std::size_t node);
  void check_patience(std::size_t node);
  void check_blame(std::size_t node);
  bool any_immortal() const;
  void failed(std::size_t node, const Round& round, bool lost);
  void check_told(const Failed& failed);
  Duration told_after() const;
  void miss_others(const Running& one);
  void check(const Running& mine);
  bool judges(std::size_t node) const;
  void check_pair(const Running& one, const Running& other);
  void check_ranks(const Running& one, const Running& other);
  std::string pair(const Running& one, const Running& other) const;

  play::Events events_;
  play::Network network_;
  WholeScenario scenario_;
  std::shared_ptr<play::Store> store_;
  std::string host_;  // of the next node; empty: a new one
  std::vector<std::unique_ptr<play::AgentHost>> nodes_;
  std::vector<Seat> seats_;                // of the same nodes
  std::map<std::int64_t, Party> running_;  // by round
  std::function<void(std::size_t index)> on_end_ = [](std::size_t) {};
  int started_ = 0;
  std::set<std::pair<std::int64_t, std::size_t>> begun_;  // round, node
  int failures_ = 0;                                      // of workers
  std::set<std::string> at_fault_;                        // hosts of these
  bool all_by_launch_ = true;
  std::optional<int> code_;
  std::optional<std::string> verdict_;
  bool same_ends_ = true;
  bool has_lost_store_ = false;
  bool time_to_save_ = false;
  Time quiet_at_{};
  std::vector<std::string> faults_;
};

}  // namespace launch::sim

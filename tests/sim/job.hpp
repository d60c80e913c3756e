// One job of the simulator: its world, its nodes, and what may happen to them.
#pragma once

#include "agents.hpp"

#include <memory>
#include <string>
#include <vector>

namespace launch::sim {

struct Scenario {
  bool hosted = true;  // by a launch agent
  bool mixed = false;  // with torchrun nodes
  bool faults = true;  // nodes that go, stand still or are cut off
  Duration offset{};   // of clocks, at most
  bool hasty = false;  // workers fail as soon as they run
  bool admits = true;  // false: --join=between-restarts
  std::size_t fewest = 3;
  std::size_t most = 20;
};

struct Run {
  std::uint64_t hash = 0;
  std::vector<std::string> faults;
  std::vector<std::string> story;
  Duration worst_loss{};    // from a loss that is known at once to the round without the node
  Duration worst_settle{};  // from the last fault to the round of all
  int losses = 0;           // that were measured
};

class Job {
 public:
  Job(std::uint64_t seed, const Scenario& scenario);
  Job(std::uint64_t seed, const Scenario& scenario, NodeLimits limits);

  Run play();

  // Building blocks.
  World& world() { return world_; }
  const Referee& referee() const { return referee_; }
  SimAgent* add();
  void add_at(Time when);
  std::vector<SimAgent*> alive();
  // All that live, as far as there is room, in one round.
  bool together();
  // Until they are; false: not within `limit`.
  bool run_until_together(Duration limit);
  void trouble();
  Run result();

 private:
  SimAgent* add(const std::string& addr);
  void replace(SimAgent& agent, Time when);
  void measure_loss();
  void freeze(SimAgent& victim);
  void cut(SimAgent& first);
  void unquiet(Time until) { calm_at_ = std::max(calm_at_, until); }
  void settle();
  void finish();
  std::string describe();

  World world_;
  Scenario scenario_;
  NodeLimits limits_;
  Referee referee_;
  std::vector<std::unique_ptr<SimAgent>> agents_;
  Time calm_at_{};        // nothing has happened since, or is going to
  int disturbances_ = 0;  // of any kind
  Run run_;
};

}  // namespace launch::sim

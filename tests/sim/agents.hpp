// Two kinds of agents for the simulator: ours, which is the real ElasticRendezvous, and a model of torchrun's, which
// polls, compares wall clocks and knows nothing of us.
#pragma once

#include "world.hpp"

#include <map>
#include <optional>
#include <set>

namespace launch::sim {

// Who was in which round, as each agent has seen it; and what must never be.
class Referee {
 public:
  // lenient: torchrun's agents are not judged.
  Referee(World& world, NodeLimits limits, bool lenient) : world_(world), limits_(limits), lenient_(lenient) {}

  void formed(const NodeDesc& who, std::int64_t round, const std::vector<NodeDesc>& members, int rank);
  const std::vector<std::string>& faults() const { return faults_; }
  void fault(std::string what);

 private:
  World& world_;
  NodeLimits limits_;
  bool lenient_;
  std::map<std::int64_t, std::vector<NodeDesc>> rounds_;
  std::map<NodeDesc, std::int64_t> last_round_;
  std::vector<std::string> faults_;
};

class SimAgent {
 public:
  SimAgent(World& world, Referee& referee, ElasticSettings settings, Duration clock_offset)
      : world_(world),
        referee_(referee),
        settings_(std::move(settings)),
        clock_offset_(clock_offset),
        client_(world, [this](const Outcome& outcome) {
          if (alive_) on(outcome);
        }) {}
  virtual ~SimAgent() = default;

  virtual void start() = 0;
  virtual void fail_worker() = 0;  // so that it starts anew
  virtual void close() = 0;
  void crash() {
    alive_ = false;
    round_.reset();
    client_.drop();
  }
  void freeze(Duration duration) { client_.freeze_until(world_.now() + duration); }

  const NodeDesc& self() const { return settings_.self; }
  bool alive() const { return alive_; }
  bool in_round() const { return round_.has_value(); }
  std::optional<std::int64_t> round() const { return round_; }
  bool refused() const { return refused_; }
  bool saw_closed() const { return saw_closed_; }

 protected:
  virtual void on(const Outcome& outcome) = 0;

  WallTime wall() const {
    return WallTime(std::chrono::duration_cast<WallClock::duration>(world_.now().time_since_epoch() + clock_offset_) +
                    std::chrono::hours(400'000));
  }

  World& world_;
  Referee& referee_;
  ElasticSettings settings_;
  Duration clock_offset_;
  Client client_;
  bool alive_ = true;
  bool refused_ = false;
  bool saw_closed_ = false;
  std::optional<std::int64_t> round_;  // whose workers run here
};

std::unique_ptr<SimAgent> make_ours(World& world, Referee& referee, ElasticSettings settings, Duration clock_offset);
std::unique_ptr<SimAgent> make_torchrun(World& world, Referee& referee, ElasticSettings settings,
                                        Duration clock_offset);

}  // namespace launch::sim

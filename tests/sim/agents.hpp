// Two kinds of agents for the simulator: ours, which is the real machine as ElasticStore drives it, and a model of
// torchrun's, which polls, compares wall clocks and knows nothing of us.
#pragma once

#include "client.hpp"
#include "referee.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace launch::sim {

struct AgentSpec {
  ElasticSettings settings;
  Duration clock_offset{};
  bool admits = true;  // false: --join=between-restarts
};

class SimAgent {
 public:
  SimAgent(World& world, Referee& referee, AgentSpec spec);
  SimAgent(const SimAgent&) = delete;
  SimAgent& operator=(const SimAgent&) = delete;
  virtual ~SimAgent() = default;

  virtual void start() = 0;
  virtual void fail_worker() = 0;  // so that it starts anew
  virtual void leave() = 0;
  virtual void close() = 0;
  void kill();    // its kernel closes what it had open
  void unplug();  // nothing does
  void freeze(Duration duration);
  void cut(Duration duration);
  bool in_trouble() const { return world_.now() < trouble_until_; }

  const NodeDesc& self() const { return spec_.settings.self; }
  bool alive() const { return alive_; }
  std::optional<std::int64_t> round() const { return round_; }
  Time formed_at() const { return formed_at_; }
  bool refused() const { return refused_; }
  bool saw_closed() const { return saw_closed_; }

 protected:
  virtual void on(const Outcome& outcome) = 0;
  virtual void expelled() {}
  virtual void lost_the_store() {}

  Instant instant() const { return {world_.now(), world_.wall(spec_.clock_offset)}; }
  std::string name() const { return to_text(self()); }
  void run(std::int64_t round);
  void rest();
  void die();

  World& world_;
  Referee& referee_;
  AgentSpec spec_;
  Client client_;
  bool alive_ = true;
  bool refused_ = false;
  bool saw_closed_ = false;
  Time formed_at_{};
  std::optional<std::int64_t> round_;  // whose workers run here
  Time trouble_until_{};

 private:
  bool has_slept_ = false;               // on the connection that it has
  std::optional<std::int64_t> counted_;  // by the referee
};

std::unique_ptr<SimAgent> make_ours(World& world, Referee& referee, AgentSpec spec);
std::unique_ptr<SimAgent> make_torchrun(World& world, Referee& referee, AgentSpec spec);

}  // namespace launch::sim

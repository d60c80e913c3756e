// What torchrun 2.13 does to the state of a c10d rendezvous, written after its dynamic_rendezvous.py: its operations to
// join, to leave, to stay alive and to close, on values. It knows no store: TorchrunHost reads and writes the state.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/c10d/elastic_state.hpp"
#include "launch/core/config/elastic_settings.hpp"

#include <utility>

namespace launch::play {

class TorchrunHandler {
 public:
  enum class Step {
    done,
    write,  // write the changed state, and look again
    wait,   // wait a second, and look again
    closed,
    too_late,
  };

  explicit TorchrunHandler(ElasticSettings settings) : settings_(std::move(settings)) {}

  const ElasticSettings& settings() const { return settings_; }
  // A new wish to join.
  void begin(Time now) { deadline_ = later(now, settings_.join_timeout); }

  // Forgets nodes that have said nothing for long. Done whenever the state was read.
  void sanitize(ElasticState& state, WallTime wall) const;
  Step join(ElasticState& state, const Instant& now);
  Step leave(ElasticState& state) const;
  Step stay(ElasticState& state, const Instant& now) const;
  Step close(ElasticState& state) const;

 private:
  const NodeDesc& self() const { return settings_.self; }
  void forget(ElasticState& state, const NodeDesc& node) const { remove_node(state, node, settings_.nodes); }
  Step wait_for_the_next(ElasticState& state, const Instant& now) const;
  Step wait_for_others(ElasticState& state, const Instant& now) const;
  Step take_a_seat(ElasticState& state, const Instant& now) const;
  void complete(ElasticState& state) const;

  ElasticSettings settings_;
  Time deadline_{};
};

}  // namespace launch::play

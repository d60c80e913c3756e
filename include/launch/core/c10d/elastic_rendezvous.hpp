// The agent's part in a c10d rendezvous over a store that torchrun hosts: it joins rounds, writes its heartbeats,
// notices nodes that join or leave, leaves and closes. It follows torchrun's rules and bytes (elastic_state,
// rendezvous_pickle), and polls.
//
// A peer is dead when its heartbeat has not changed for too long by this host's clock; the clocks of two hosts are
// never compared.
#pragma once

#include "launch/core/c10d/elastic_machine.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class ElasticRendezvous : public ElasticMachine {
 public:
  ElasticRendezvous(ElasticSettings settings, Random random);

  ElasticStep start(Instant now) override;
  Result<ElasticStep> on(const Outcome& outcome, Instant now) override;
  Time deadline() const override { return deadline_; }

  void join(Time now, int restarts) override;
  void close(Time now) override;
  void leave(Time now, std::string reason) override;
  void admit_nobody() override { admits_ = false; }

 private:
  enum class Phase {
    founding,  // the sentinel is written
    reading,
    writing,
    waiting,
    pausing,  // after lost writes
  };
  enum class Goal {
    none,    // outside
    join,    // wants to be in a round
    member,  // is in one
    leave,
    close,
  };
  struct Seen {
    WallTime heartbeat;
    Time since;  // when it got this value
  };

  void take(const std::string& text, ElasticState state, Time now);
  ElasticStep act(Instant now);
  Operation read(Time now);
  Operation write(const ElasticState& next, Time now);
  Operation wait(Time now);

  void drop_dead(ElasticState& next, Time now) const;
  void pursue(ElasticState& next, Instant now);
  void try_join(ElasticState& next, Instant now);
  void stay(ElasticState& next, Instant now);
  void enter(ElasticState& next, WallTime wall) const;
  void keep_alive(ElasticState& next, Instant now);
  bool has_room_for_waiting(const ElasticState& state) const;
  bool formed(Time now);
  bool leaves_too_early(Time now);
  void refuse(ErrorCode code, std::string message);
  std::optional<RoundBroken> find_break(const ElasticState& next) const;
  void wake_by(Time time) { deadline_ = std::min(deadline_, time); }
  Time expiry(Time since) const;

  ElasticSettings settings_;
  LostWrites lost_writes_;
  std::string key_;
  Phase phase_ = Phase::founding;
  Goal goal_ = Goal::none;
  ElasticState state_;   // as stored
  std::string text_;     // state_ as text: what a write expects to find
  std::string written_;  // by the write under way
  Time deadline_ = never;
  Time give_up_ = never;    // joining, leaving or closing
  Time last_call_ = never;  // of the round that is forming, by this host's clock
  Time report_ = never;
  std::size_t came_ = 0;  // nodes that had joined, at the time-out
  bool told_broken_ = false;
  std::optional<std::int64_t> round_;  // the last one that it is or was a member of
  std::map<NodeDesc, int> ranks_;      // in that round
  Time formed_at_{};
  bool mixed_ = false;  // torchrun's agents are in the round
  bool admits_ = true;  // nodes that join may break up the round
  std::map<NodeDesc, Seen> seen_;
  std::vector<ElasticNews> news_;
};

}  // namespace launch

// The agent's part in a c10d rendezvous: joins rounds, keeps itself alive, notices who comes and goes, leaves, closes.
// torchrun's rules and bytes (elastic_state, rendezvous_pickle), so that torchrun agents can be in the job.
//
// A machine: each step is an operation on the store and what the agent is to know; deadline() bounds the operation.
// A wish (join, close) takes effect with the next step: the caller cuts a wait short for it. A peer is dead when its
// heartbeat has not changed for so long by this host's clock; clocks of two hosts are never compared.
#pragma once

#include "launch/core/elastic_state.hpp"
#include "launch/core/error.hpp"
#include "launch/core/random.hpp"
#include "launch/core/store_operation.hpp"

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace launch {

// Defaults are torchrun's; --rdzv-conf sets them.
struct ElasticSettings {
  std::string run_id;
  NodeDesc self;
  NodeLimits nodes;
  Duration join_timeout = std::chrono::seconds(600);
  Duration last_call_timeout = std::chrono::seconds(30);
  Duration close_timeout = std::chrono::seconds(30);
  Duration keep_alive_interval = std::chrono::seconds(5);
  int keep_alive_max_attempt = 3;
  Duration report_interval = std::chrono::seconds(30);  // between two lines to the user; no key sets it
};

// What a step tells, one line each.
// clang-format off
struct RoundFormed { std::int64_t round = 0; std::vector<NodeDesc> members; int rank = 0; };  // members by rank
struct RoundBroken { std::string reason; bool anew = true; };  // a member has gone, or a node wants to join
struct RoundWaits { int arrived = 0; bool spare = false; Duration left{}; };  // for a line to the user
struct RoundRefused { Error error; bool spare = false; };  // time-out or closed; a spare was not needed, that is all
struct RendezvousClosed {};                  // by anybody, for good
struct RendezvousEnded {};                   // what leave() or close() asked for is done, or was given up
// clang-format on

using ElasticNews = std::variant<RoundFormed, RoundBroken, RoundWaits, RoundRefused, RendezvousClosed, RendezvousEnded>;

struct ElasticStep {
  Operation next;
  std::vector<ElasticNews> news;
};

// The literal key of the state.
std::string state_key(const std::string& run_id);

// What the keys of one round begin with, without a slash at either end.
std::string round_prefix(const std::string& run_id, std::int64_t round);

class ElasticRendezvous {
 public:
  ElasticRendezvous(ElasticSettings settings, Random random);

  ElasticStep start(Instant now);
  // An error: the store holds what is no state.
  Result<ElasticStep> on(const Outcome& outcome, Instant now);
  Time deadline() const { return deadline_; }

  // Leaves the round it is in, if any, and joins the next.
  void join(Time now);
  // For good, for everybody.
  void close(Time now);
  // Leaves without closing: others go on waiting.
  void leave(Time now);

 private:
  enum class Phase {
    looking,   // whether the store pushes
    founding,  // the sentinel is written
    reading,
    writing,
    waiting,  // for a change, or for a time
    pausing,  // after lost writes
  };
  enum class Goal {
    none,    // outside
    join,    // wants into a round
    member,  // is in one
    leave,
    close,
  };
  struct Seen {
    WallTime heartbeat;
    Time since;  // it has this value
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
  bool listed(const ElasticState& state) const;
  Time expiry(Time since) const;

  ElasticSettings settings_;
  Random random_;
  std::string key_;
  Phase phase_ = Phase::looking;
  Goal goal_ = Goal::none;
  bool pushes_ = false;  // the store wakes us at a change
  ElasticState state_;   // as stored
  std::string text_;     // the same as text: what a write expects to find
  std::string written_;  // by the write under way
  int lost_writes_ = 0;  // in a row
  Time deadline_ = never;
  Time give_up_ = never;    // joining, leaving or closing
  Time last_call_ = never;  // by this host's clock, of the round that is forming
  Time report_ = never;
  std::size_t came_ = 0;  // nodes, at the time-out
  bool told_broken_ = false;
  bool told_closed_ = false;
  std::optional<std::int64_t> round_;  // the one it is, or was last, a member of
  std::map<NodeDesc, int> ranks_;      // in that round
  Time formed_at_{};
  bool mixed_ = false;  // with torchrun's agents
  std::map<NodeDesc, Seen> seen_;
  std::vector<ElasticNews> news_;
};

}  // namespace launch

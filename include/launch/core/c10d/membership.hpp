// Who is in a c10d job, kept by the agent that hosts its store. It acts for the launch agents that attend: they say
// what they want and are told, without polling, what comes of it. For torchrun's agents it is the text under the key
// of the state, read and written by their rules; it is made and taken apart only when one of them asks.
//
// Called by AgentStore. Pure: connections are numbers, time comes in. A change costs O(log n), a round O(n log n).
#pragma once

#include "launch/core/c10d/attendance.hpp"
#include "launch/core/c10d/formed_round.hpp"
#include "launch/core/c10d/torchrun_agents.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class Membership {
 public:
  struct Answer {
    ConnectionId to;
    std::string text;  // ElasticNews
  };

  Membership() = default;
  // Before it attends, so that a state that is there already is read as it would have it.
  explicit Membership(const Attendance& first) { agree_on(first); }

  void attend(ConnectionId from, const Attendance& said, Instant now);
  // It no longer waits for an answer; what would have come comes when it attends again.
  void stop_waiting(ConnectionId connection);
  // The connection is gone, and so is the agent. `silent`: it was not closed, but nothing was heard of it.
  void drop(ConnectionId connection, bool silent, Instant now);
  bool attends(ConnectionId connection) const { return peers_.contains(connection); }

  // What the key holds; the same until something has happened or the heartbeats in it are old.
  const std::string& text(Instant now);
  // `writer` has put `text` under the key. An error: it is no state, or none that an agent makes
  // of this one; it has no effect.
  Status adopt(ConnectionId writer, const std::string& text, Instant now);

  Time deadline() const;
  void on_deadline(Instant now);

  // What has come of all that, in order.
  std::vector<Answer> take_answers() { return std::exchange(answers_, {}); }

  const ElasticState& state() const { return state_; }

 private:
  struct Peer {
    Attendance said;
    bool waiting = false;       // an answer is due
    std::uint64_t arrival = 0;  // among those who want in; 0: it is none of them
  };
  // Wishes.
  void agree_on(const Attendance& first);
  bool accept(ConnectionId from, const Attendance& said, Instant now);
  void join(ConnectionId from, Peer& peer, Instant now);
  void stay(ConnectionId from, Peer& peer);
  void leave(ConnectionId from, Instant now);
  void want_in(ConnectionId from, Peer& peer);
  void want_nothing(Peer& peer);
  void forget(ConnectionId connection);

  // Answers.
  void answer(ConnectionId to, const ElasticNews& news);
  void answer_look(ConnectionId to, const NodeDesc& node);
  void tell_formed(ConnectionId to, Peer& peer);
  void tell_broken();
  void refuse(ConnectionId to, Peer& peer);

  // The state.
  void break_up(RoundBroken why);
  void lose(const NodeDesc& node, const std::string& how, Instant now);
  void remove(const NodeDesc& node, Instant now);
  void turn(Instant now);
  void settle(Instant now);
  void promote_spares();
  void enter_candidates(int room, Instant now);
  void form(Instant now);
  bool nobody_else_is_due() const;
  bool admits() const { return reluctant_ == 0; }
  bool too_early(Time now) const;
  int count() const { return static_cast<int>(state_.participants.size()); }
  bool is_member(const NodeDesc& node) const { return state_.complete && state_.participants.contains(node); }
  void changed() { text_.clear(); }

  // torchrun's agents.
  void learn_who_left(ConnectionId writer, const ElasticState& before, Time now);

  ElasticState state_;
  NodeLimits limits_;
  CommonSettings common_;
  Duration last_call_time_{};
  Duration silence_{};
  std::map<ConnectionId, Peer> peers_;
  std::map<NodeDesc, ConnectionId> by_node_;
  std::map<std::uint64_t, ConnectionId> candidates_;  // want in and are no participants, in order of arrival
  std::uint64_t arrivals_ = 0;
  int reluctant_ = 0;  // agents that want nobody to break up their round

  FormedRound round_;  // the last one
  Time formed_at_{};
  std::optional<RoundBroken> broken_;  // the last round, until the next one has formed
  std::set<NodeDesc> doomed_;          // dead members that torchrun's agents must see a little longer
  std::set<ConnectionId> impatient_;   // members that may not leave yet, for the same reason
  bool again_ = false;                 // the next round is to form as soon as those who are known are in
  Time last_call_ = never;
  bool refused_ = false;  // those who waited when the rendezvous was closed

  TorchrunAgents torchrun_;
  std::string text_;  // empty: to be made anew
  WallTime rendered_{};
  std::vector<Answer> answers_;
};

}  // namespace launch

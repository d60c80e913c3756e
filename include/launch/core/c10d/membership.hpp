// Who is in a c10d job, kept by the agent that hosts its store. It acts for the launch agents that attend: they say
// what they want, and are told the result without polling. For torchrun's agents it is the text under the state's key,
// read and written by their rules. That text is made or parsed only when one of them reads or writes it.
//
// Called by AgentStore. Pure: connections are numbers, time comes in. A change costs O(log n), a round O(n log n).
#pragma once

#include "launch/core/c10d/attendance.hpp"
#include "launch/core/c10d/formed_round.hpp"
#include "launch/core/c10d/quorum.hpp"
#include "launch/core/c10d/torchrun_agents.hpp"
#include "launch/core/c10d/witnesses.hpp"
#include "launch/core/config/common_settings.hpp"

#include <algorithm>
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
  // `first` is about to attend: a state that is already there is read with its settings.
  explicit Membership(Attendance first) : terms_(std::move(first)) { quorum_.set_lease(terms_.lease); }

  void attend(ConnectionId from, const Attendance& said, Instant now);
  // It no longer waits for an answer; it gets that when it attends again.
  void stop_waiting(ConnectionId connection) {
    if (const auto peer = peers_.find(connection); peer != peers_.end()) peer->second.waiting = false;
  }
  // The connection is gone, and so is the agent. `silent`: it was not closed, but nothing was heard from it.
  void drop(ConnectionId connection, bool silent, Instant now);
  // Called before drop(): the kernel of its machine has closed it in order, so its process has ended, or has closed it
  // since it has no workers any more and does not come back to this round.
  void end(ConnectionId connection) {
    if (const auto peer = peers_.find(connection); peer != peers_.end()) peer->second.ended = true;
  }
  // A request of it has come; `beats`: a sign of life. False: what it is answered must be held back until this is true
  // (core/c10d/quorum).
  bool may_answer(ConnectionId connection, bool beats, Time now) {
    const auto peer = peers_.find(connection);
    if (peer == peers_.end() || !quorum_.on() || state_.closed || moved_) return true;
    const NodeDesc& node = peer->second.said.node;
    if (beats) quorum_.beat(node);
    const bool may = quorum_.may_answer(node, now);
    if (beats && may) quorum_.answer(node, now);
    return may;
  }
  // Whether what was held back may be sent.
  bool may_release(Time now) { return state_.closed || moved_ || quorum_.has_enough(now); }
  Duration between_words() const { return quorum_.between_words(); }
  // It is told now to wait for an answer; or what was held back is sent to it.
  void tell_at(ConnectionId connection, Time now) {
    if (const auto peer = peers_.find(connection); peer != peers_.end()) quorum_.answer(peer->second.said.node, now);
  }
  // The round that has become known to all its members since the last call.
  std::optional<std::int64_t> take_settled() { return std::exchange(settled_, std::nullopt); }
  // Connections that must be reset now; they never attend.
  std::vector<ConnectionId> take_void() { return witnesses_.take_void(); }
  // Why the agent that has just attended is not let in, for whoever reads what the host of the store says.
  std::optional<std::string> take_objection() { return std::exchange(objection_, std::nullopt); }
  bool attends(ConnectionId connection) const { return peers_.contains(connection); }
  // Where the job lives, if that is not here.
  const std::optional<MovedJob>& moved() const { return moved_; }

  // The text under the key; it stays the same until something happens or the heartbeats in it are old.
  const std::string& text(Instant now);
  // `writer` has put `text` under the key. An error: it is not a state, or no agent can make it from the present one;
  // then it has no effect.
  Status adopt(ConnectionId writer, const std::string& text, Instant now);

  Time deadline() const;
  void on_deadline(Instant now);

  // The answers to all that, in order.
  std::vector<Answer> take_answers() { return std::exchange(answers_, {}); }

  const ElasticState& state() const { return state_; }
  // Some that attend have not asked for the next round, so their workers may still run; the host of the store does not
  // count.
  bool workers_may_run() const {
    const auto may = [](const auto& peer) {
      return peer.second.said.wish != Attendance::Wish::join && !peer.second.said.hosts;
    };
    return std::any_of(peers_.begin(), peers_.end(), may);
  }
  // Launch agents that attend, but for that of the host; `leaving`: of these, those that have said that they leave.
  struct Others {
    std::size_t all = 0, leaving = 0;
  };
  Others others() const {
    Others others;
    for (const auto& [connection, peer] : peers_) {
      if (peer.said.hosts) continue;
      ++others.all;
      if (peer.said.wish == Attendance::Wish::leave) ++others.leaving;
    }
    return others;
  }

 private:
  struct Peer {
    Attendance said;
    bool waiting = false;       // an answer is due
    std::uint64_t arrival = 0;  // its place among those that want to join; 0: it does not
    std::int64_t told = -1;     // a spare: the round whose line it has heard of
    bool ended = false;         // its process
    bool returns = false;       // from another store, so it cannot go on with a round of this one
    std::size_t told_of = 0;    // in the line: how many members of the round it knows to have ended
  };
  // Wishes.
  bool accept(ConnectionId from, const Attendance& said, Instant now);
  void join(ConnectionId from, Peer& peer, Instant now);
  void stay(ConnectionId from, Peer& peer);
  void leave(ConnectionId from, Instant now);
  void leave_between_rounds(const Attendance& said, Instant now) {
    host_leaves_ = host_leaves_ || (said.hosts && has_begun(state_));
    remove(said.node, now);
  }
  void want_in(ConnectionId from, Peer& peer);
  void want_nothing(Peer& peer) {
    if (peer.arrival != 0) candidates_.erase(peer.arrival);
    peer.arrival = 0;
    peer.returns = false;
  }
  // All that attend are told where the job lives, now or when they ask, and no round forms here any more.
  void hear_of_elder(ConnectionId from, const Attendance& said) {
    answer(from, RendezvousEnded{});
    const bool same = said.nodes == terms_.nodes && find_differences(said.common, terms_.common).empty();
    if (!same || moved_ || state_.closed || !gives_way(std::max(term_, regrouping_.term()), *said.moved)) return;
    moved_ = *said.moved;
    for (auto& [connection, peer] : peers_)
      if (std::exchange(peer.waiting, false)) answer(connection, RoundMoved{*moved_});
  }
  void forget(ConnectionId connection) {
    const auto peer = peers_.find(connection);
    want_nothing(peer->second);
    reluctant_ -= static_cast<int>(!peer->second.said.admits);
    impatient_.erase(connection);
    by_node_.erase(peer->second.said.node);
    witnesses_.give_up(peer->second.said.node);
    if (peer->second.ended) round_.end(peer->second.said.node);
    const bool never_returns = peer->second.ended || peer->second.said.wish == Attendance::Wish::leave;
    if (never_returns) quorum_.end(peer->second.said.node);
    regrouping_.lose(peer->second.said.node, peer->second.ended);
    peers_.erase(peer);
  }
  // The round has broken up before anybody heard of it.
  void ask_anew(Instant now) {
    for (const ConnectionId to : members_that_wait(Attendance::Wish::join)) join(to, peers_.at(to), now);
  }

  // Answers.
  void answer(ConnectionId to, const ElasticNews& news) { answers_.push_back({to, to_json(news)}); }
  void answer_look(ConnectionId to, const NodeDesc& node, Instant now) {
    const std::size_t in = state_.complete && broken_ ? state_.wait_list.size() : state_.participants.size();
    RoundWaits waits{static_cast<int>(in), stands_by(node), {}, has_begun(state_)};
    waits.succession = round_.succession_for(node);
    if (const Regrouping& all = regrouping_; all.active()) {
      waits = {all.arrived(), false, {}, true, all.awaited(), all.base_for(node), all.patience(now.time)};
      // Nobody else is needed, but they are fewer than the job needs.
      if (all.may_form()) waits = {static_cast<int>(candidates_.size()), false, {}, true, 0, all.base_for(node)};
    }
    answer(to, waits);
  }
  // A spare, or a member that had ended well when it was lost to this host: the others run on without it.
  bool stands_by(const NodeDesc& node) const {
    return state_.redundancy_list.contains(node) || (!broken_ && round_.has_departed(node));
  }
  // A member whose loss is none.
  bool has_ended_well(const Attendance& said) const {
    return (said.done || stands_by(said.node)) && is_member(said.node) && !broken_;
  }
  void stand_by(ConnectionId from, Peer& peer, Instant now) {
    want_in(from, peer);
    tell_line(from, peer, now);
  }
  // A spare that stands by must know where to go if the host ends.
  void tell_line(ConnectionId to, Peer& spare, Instant now) {
    if (!state_.complete || broken_ || spare.told == state_.round || round_.succession().line.empty()) return;
    if (!stands_by(spare.said.node) || !std::exchange(spare.waiting, false)) return;
    spare.told = state_.round;
    answer_look(to, spare.said.node, now);
  }
  // Those who may host the store next know who has ended: they have broken up the round, and wait for the next one.
  void tell_of_ends(Instant now) {
    for (const Heir& heir : round_.succession().line) {
      const auto known = by_node_.find(heir.node);
      if (known != by_node_.end()) tell_of_ends(known->second, peers_.at(known->second), now);
    }
  }
  void tell_of_ends(ConnectionId to, Peer& heir, Instant now) {
    const std::size_t ends = round_.succession().ended.size();
    if (!heir.waiting || heir.said.wish != Attendance::Wish::join || heir.told_of >= ends) return;
    if (!round_.leads_to(heir.said.node)) return;
    heir.told_of = ends;
    heir.waiting = false;
    answer_look(to, heir.said.node, now);
  }
  void tell_formed(ConnectionId to, Peer& peer) {
    peer.waiting = false;
    peer.told_of = 0;
    RoundFormed formed = round_.news_for(peer.said.node);
    if (peer.said.common != terms_.common) formed.common = terms_.common;
    answer(to, formed);
  }
  void tell_round();
  void tell_broken();
  std::vector<ConnectionId> members_that_wait(Attendance::Wish wish) const;
  void refuse(ConnectionId to, Peer& peer, const Error& why) {
    want_nothing(peer);
    if (!std::exchange(peer.waiting, false)) return;
    const bool few = quorum_.on() && why.code == ErrorCode::timeout;
    answer(to, RoundRefused{why, stands_by(peer.said.node), false, few});
  }
  // The host itself says so when it has read the answer.
  bool turn_away(ConnectionId to, const Attendance& said, const Error& why) {
    if (!said.hosts) objection_ = why.message;
    answer(to, RoundRefused{why});
    return false;
  }
  void refuse_all(const Error& why) {
    for (auto& [connection, peer] : peers_)
      if (peer.said.wish == Attendance::Wish::join || must_know_of_end(peer)) refuse(connection, peer, why);
  }
  // A member that could go on without the host must know that the job has ended before the host does.
  bool must_know_of_end(const Peer& peer) const {
    return state_.closed && peer.said.wish == Attendance::Wish::stay && !round_.succession().line.empty();
  }

  // The state.
  void break_up(RoundBroken why) {
    if (broken_ || !state_.complete) return;
    broken_ = std::move(why);
    tell_broken();
  }
  void lose(const NodeDesc& node, const std::string& how, Instant now);
  void remove(const NodeDesc& node, Instant now);
  void turn(Instant now);
  void gather(Instant now);
  void settle(Instant now);
  void promote_spares();
  void enter_candidates(int room, Instant now);
  void form(Instant now);
  bool nobody_else_is_due() const {
    const auto is_torchrun = [](const NodeDesc& node) { return !is_launch(node); };
    const auto& spares = state_.redundancy_list;
    return again_ && torchrun_.due(state_) == 0 && std::none_of(spares.begin(), spares.end(), is_torchrun);
  }
  // They are enough, and wait for nobody else.
  bool should_form(bool last_call) const {
    if (host_leaves_) return false;
    const bool full = count() == terms_.nodes.max;
    return (full || (count() >= terms_.nodes.min && (last_call || nobody_else_is_due()))) && is_quorum();
  }
  bool is_quorum() const {
    std::vector<const NodeDesc*> present;
    if (quorum_.on())
      for (const auto& [node, rank] : state_.participants) present.push_back(&node);
    return quorum_.may_form(present);
  }
  static bool wants_to_stay(const Peer& peer) { return peer.said.wish == Attendance::Wish::stay; }
  void lose_vanished(Instant now) {
    for (auto one = vanished_.begin(); one != vanished_.end();) {
      const auto [node, when] = *one;
      one = now.time >= when ? vanished_.erase(one) : std::next(one);
      if (now.time >= when) lose(node, "stopped responding", now);
    }
  }
  // A member that wants to be in a round has no workers any more, and gets new ones when the others do, not before.
  void come_back(const Attendance& said, Instant now) {
    const bool had_vanished = vanished_.erase(said.node) > 0;
    const bool joins = said.wish == Attendance::Wish::join;
    if (had_vanished && joins && !broken_) lose(said.node, "left without a report", now);
    if (said.wish == Attendance::Wish::stay) round_.come_back(said.node);
  }
  void look_at_quorum(Time now) {
    given_up_ = given_up_ || !is_quorum();
    look_at_quorum_ = given_up_ ? never : later(now, quorum_.patience());
  }
  Error too_few_left() const {
    const Quorum::Past here = quorum_.past_of(round_.order());
    return {ErrorCode::timeout, too_few(count(), here.old + here.missing)};
  }
  void know_round(const Attendance& said) {
    if (said.round == state_.round && is_member(said.node) && quorum_.knows_round(said.node)) settled_ = said.round;
  }
  bool admits() const { return reluctant_ == 0; }
  bool too_early(Time now) const { return round_.is_mixed() && now < later(formed_at_, torchrun_looks); }
  int count() const { return static_cast<int>(state_.participants.size()); }
  bool is_member(const NodeDesc& node) const { return state_.complete && state_.participants.contains(node); }
  void changed() { text_.clear(); }

  ElasticState state_;
  Attendance terms_;  // of the first agent: the limits and settings of the job, and its times
  std::map<ConnectionId, Peer> peers_;
  std::map<NodeDesc, ConnectionId> by_node_;
  std::map<std::uint64_t, ConnectionId> candidates_;  // want to join and are not participants, in order of arrival
  std::uint64_t arrivals_ = 0;
  int reluctant_ = 0;  // agents that do not let new nodes break up their round

  Witnesses witnesses_;
  Quorum quorum_;
  // Members whose connections were reset, by them or by the network, and whose workers may run until then.
  std::map<NodeDesc, Time> vanished_;
  Time look_at_quorum_ = never;  // as long as no round forms
  bool given_up_ = false;        // those who are here are too few, and others may have gone on
  std::optional<std::int64_t> settled_;
  FormedRound round_;    // the last one that formed
  bool untold_ = false;  // its members have not heard of it yet
  Time formed_at_{};
  std::optional<RoundBroken> broken_;  // why the last round broke up, until the next one has formed
  std::set<NodeDesc> doomed_;          // dead members that torchrun's agents must see a little longer
  std::set<ConnectionId> impatient_;   // members that may not leave yet, for the same reason
  bool again_ = false;                 // the next round must form as soon as all known nodes are in
  Time last_call_ = never;
  bool overdue_ = false;           // the last call is over, but those who are here may not go on without the others
  Regrouping regrouping_;          // after the host of the last store has ended, until a round may form
  int term_ = 0;                   // how often the store of the job has moved
  int missing_ = 0;                // members of the last store's last round that may know only that
  bool host_leaves_ = false;       // between two rounds: the next one forms at another store
  std::optional<MovedJob> moved_;  // where the job lives, if that is not here
  bool refused_ = false;           // the nodes that waited when the rendezvous was closed

  TorchrunAgents torchrun_;
  std::string text_;  // empty: it must be made again
  WallTime rendered_{};
  std::vector<Answer> answers_;
  std::optional<std::string> objection_;
};

}  // namespace launch

#include "launch/core/c10d/membership.hpp"

#include "launch/core/c10d/rendezvous_pickle.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono_literals;
using Wish = Attendance::Wish;
using Cause = RoundBroken::Cause;

Error closed() { return {ErrorCode::closed, "the rendezvous is closed"}; }
constexpr Duration heartbeats_last = 5s;  // those written for launch agents, if torchrun's limit allows it

}  // namespace

// ---- wishes

void Membership::attend(ConnectionId from, const Attendance& said, Instant now) {
  if (said.wish == Wish::tell) return hear_of_elder(from, said);
  if (moved_ && said.wish != Wish::leave && said.wish != Wish::close) return answer(from, RoundMoved{*moved_});
  if (said.wish == Wish::look) return answer_look(from, said.node, now);
  if (said.wish == Wish::witness)
    return by_node_.contains(said.node) ? witnesses_.add(from, said.node) : answer(from, RendezvousEnded{});
  if (!accept(from, said, now)) return;
  Peer& peer = peers_.at(from);
  if (!has_begun(state_)) regrouping_.hear({said.node, said.wish == Wish::join, said.hosts}, said.comeback, now.time);
  switch (said.wish) {
    case Wish::look:  // these were answered
    case Wish::tell:
    case Wish::witness:
    case Wish::where:
      break;
    case Wish::join:
      join(from, peer, now);
      break;
    case Wish::stay:
      stay(from, peer);
      break;
    case Wish::leave:
      leave(from, now);
      break;
    case Wish::close:
      if (regrouping_.lacks_host()) return leave(from, now);
      state_.closed = true;
      changed();
      peer.waiting = false;
      answer(from, RendezvousEnded{});
      break;
  }
  settle(now);
}

// A node whose settings of the job differ from those of the first one is refused.
bool Membership::accept(ConnectionId from, const Attendance& said, Instant now) {
  if (peers_.empty()) {
    terms_ = said;
    quorum_.set_lease(said.lease);
  } else if (const auto error = find_contradiction(said, terms_.nodes, terms_.common)) {
    return turn_away(from, said, *error);
  }
  // It has connected again, and the other connection is dead; or two agents use the same name.
  if (const auto known = by_node_.find(said.node); known != by_node_.end() && known->second != from) {
    if (peers_.at(known->second).waiting) answer(known->second, RoundRefused{name_taken(said.node)});
    drop(known->second, false, now);
  }
  const auto before = peers_.find(from);
  if (before != peers_.end() && before->second.said.node != said.node) drop(from, false, now);  // it was another node
  come_back(said, now);
  by_node_[said.node] = from;
  const bool is_new = !peers_.contains(from);
  if (is_new) quorum_.connect(said.node);
  if (said.hosts) quorum_.set_self(said.node);
  Peer& peer = peers_[from];
  reluctant_ += static_cast<int>(peer.said.admits) - static_cast<int>(said.admits);
  peer.said = said;
  peer.waiting = true;
  peer.returns = peer.returns || (is_new && has_begun(state_) && (said.anew || said.comeback));
  if (is_new && peer.returns) quorum_.disown(said.node);
  if (said.wish == Wish::join) return true;
  want_nothing(peer);
  impatient_.erase(from);
  return true;
}

void Membership::join(ConnectionId from, Peer& peer, Instant now) {
  const NodeDesc& node = peer.said.node;
  if (state_.closed) return refuse(from, peer, closed());
  if (state_.participants.contains(node)) {
    if (!state_.complete) return;
    if (stands_by(node)) return stand_by(from, peer, now);
    const bool awaited = broken_ && broken_->cause != Cause::loss && round_.is_mixed();  // by torchrun's agents
    if ((!broken_ || awaited) && state_.round > peer.said.round && !peer.returns)
      return untold_ ? tell_round() : tell_formed(from, peer);
    if (too_early(now.time)) {
      impatient_.insert(from);
      return;
    }
    want_in(from, peer);  // before it leaves: if it is the last one, the next round begins
    break_up({to_text(node) + " restarts", Cause::restart});
    remove(node, now);
  }
  if (state_.participants.contains(node)) return;
  want_in(from, peer);
  tell_line(from, peer, now);
  tell_of_ends(from, peer, now);
}

void Membership::stay(ConnectionId from, Peer& peer) {
  if (must_know_of_end(peer)) return refuse(from, peer, closed());
  know_round(peer.said);
  if (is_member(peer.said.node) && state_.round == peer.said.round && !broken_) return;
  peer.waiting = false;
  answer(from, broken_.value_or(RoundBroken{"the other nodes believe that this one is dead"}));
}

// The others are told at once. A member stays until its connection ends, since until then it stops its workers.
void Membership::leave(ConnectionId from, Instant now) {
  Peer& peer = peers_.at(from);
  const NodeDesc& node = peer.said.node;
  peer.waiting = false;
  answer(from, RendezvousEnded{});
  if (!is_member(node)) return leave_between_rounds(peer.said, now);
  if (stands_by(node)) return;  // the others run on
  const std::string why = peer.said.reason.empty() ? "" : ": " + peer.said.reason;
  break_up({fmt::format("{} leaves{}", to_text(node), why), Cause::change, round_.rank_of(node)});
}

void Membership::want_in(ConnectionId from, Peer& peer) {
  const NodeDesc& node = peer.said.node;
  if (peer.arrival == 0 && (state_.complete || !state_.participants.contains(node))) {
    peer.arrival = ++arrivals_;
    candidates_.emplace(peer.arrival, from);
  }
  if (!state_.complete || state_.listed(node)) return;
  const int sure = count() + static_cast<int>(state_.wait_list.size());
  const bool room = sure < terms_.nodes.max && (broken_ || admits());
  (room ? state_.wait_list : state_.redundancy_list).insert(node);
  changed();
}

void Membership::drop(ConnectionId connection, bool silent, Instant now) {
  witnesses_.drop(connection);
  if (const auto writer = torchrun_.drop(connection)) lose(*writer, "has left", now);
  if (const auto peer = peers_.find(connection); peer != peers_.end()) {
    const NodeDesc node = peer->second.said.node;
    const bool done = has_ended_well(peer->second.said);
    const bool may_run_on =
        quorum_.on() && !silent && !peer->second.ended && is_member(node) && wants_to_stay(peer->second);
    forget(connection);
    if (done) {
      round_.depart(node);
    } else if (may_run_on) {
      vanished_[node] = later(now.time, quorum_.silence());
    } else {
      lose(node, silent ? "stopped responding" : "left without a report", now);
    }
    tell_of_ends(now);
  }
  settle(now);
}

// ---- answers

// If others can go on without the host, all must hear of the round before workers of it start somewhere: so nobody
// hears of it before all wait for the news, which then go out at one moment. Somebody may just have looked.
void Membership::tell_round() {
  const std::vector<ConnectionId> waiting = members_that_wait(Wish::join);
  if (!round_.succession().line.empty() && waiting.size() < round_.order().size()) return;
  untold_ = false;
  for (const ConnectionId connection : waiting) tell_formed(connection, peers_.at(connection));
}

void Membership::tell_broken() {
  const std::string text = to_json(ElasticNews(*broken_));
  for (const ConnectionId connection : members_that_wait(Wish::stay)) {
    stop_waiting(connection);
    answers_.push_back({connection, text});
  }
}

std::vector<ConnectionId> Membership::members_that_wait(Wish wish) const {
  std::vector<ConnectionId> connections;
  for (const NodeDesc& node : round_.order()) {
    const auto known = by_node_.find(node);
    const Peer* const peer = known == by_node_.end() ? nullptr : &peers_.at(known->second);
    if (peer != nullptr && peer->waiting && peer->said.wish == wish) connections.push_back(known->second);
  }
  return connections;
}

// ---- the state

void Membership::lose(const NodeDesc& node, const std::string& how, Instant now) {
  const bool was_in = is_member(node);
  if (was_in) break_up({fmt::format("{} {}", to_text(node), how), Cause::loss, round_.rank_of(node)});
  if (!was_in || !too_early(now.time)) return remove(node, now);
  doomed_.insert(node);
}

void Membership::remove(const NodeDesc& node, Instant now) {
  const bool was_complete = state_.complete;
  remove_node(state_, node, terms_.nodes);
  torchrun_.forget(node);
  if (!state_.deadline) last_call_ = never;
  overdue_ = overdue_ && state_.deadline;
  changed();
  if (was_complete && !state_.complete) turn(now);
}

// The last member has left: the next round begins, with the known nodes. Members of the last one come first.
void Membership::turn(Instant now) {
  for (const ConnectionId connection : std::exchange(impatient_, {})) want_in(connection, peers_.at(connection));
  doomed_.clear();
  untold_ = overdue_ = false;
  last_call_ = never;
  look_at_quorum_ = quorum_.on() ? later(now.time, quorum_.patience()) : never;
  std::vector<std::tuple<int, std::uint64_t, ConnectionId>> order;
  for (const auto& [arrival, connection] : candidates_)
    order.emplace_back(round_.place_of(peers_.at(connection).said.node), arrival, connection);
  std::sort(order.begin(), order.end());
  candidates_.clear();
  for (const auto& [rank, arrival, connection] : order) {
    peers_.at(connection).arrival = ++arrivals_;
    candidates_.emplace(arrivals_, connection);
  }
  again_ = static_cast<int>(candidates_.size()) + torchrun_.due(state_) >= terms_.nodes.min;
  settle(now);
}

// Does what the present state requires.
void Membership::settle(Instant now) {
  if (moved_) return;
  if (broken_)
    for (const NodeDesc& node : round_.take_departed()) lose(node, "has ended", now);
  if (state_.closed) return std::exchange(refused_, true) ? void() : refuse_all(closed());
  if (state_.complete) {
    promote_spares();
    if (!state_.wait_list.empty() && count() < terms_.nodes.max && admits())
      break_up({to_text(*state_.wait_list.begin()) + " joins"});
    return broken_ && std::exchange(untold_, false) ? ask_anew(now) : void();
  }
  if (regrouping_.active()) return gather(now);
  if (given_up_) return refuse_all(too_few_left());
  const bool last = overdue_ || now.time >= last_call_;
  if (last) torchrun_.expect_nobody_back();
  enter_candidates(last ? terms_.nodes.max : terms_.nodes.max - torchrun_.due(state_), now);
  overdue_ = last && quorum_.on();
  if (should_form(last)) form(now);
}

// The round is the first one of this store, but not of the job.
void Membership::gather(Instant now) {
  for (const NodeDesc& node : regrouping_.behind())
    if (const auto to = by_node_.at(node); std::exchange(peers_.at(to).waiting, false)) answer_look(to, node, now);
  const auto formed = regrouping_.form({static_cast<int>(candidates_.size()), terms_.nodes.min}, now.time);
  if (!formed) return;
  if (!*formed) return refuse_all(formed->error());
  state_.round = regrouping_.base().round + 1;
  term_ = regrouping_.term();
  missing_ = regrouping_.missing();
  round_ = FormedRound(regrouping_.ranks());
  quorum_.take_over(Electorate(regrouping_.ranks(), regrouping_.members()));
  regrouping_ = {};
  turn(now);
}

// As many spares as there is room for; the one that has waited longest comes first.
void Membership::promote_spares() {
  if (state_.redundancy_list.empty() || (!broken_ && !admits())) return;
  for (const auto& [arrival, connection] : candidates_) {
    if (count() + static_cast<int>(state_.wait_list.size()) >= terms_.nodes.max) return;
    const NodeDesc& node = peers_.at(connection).said.node;
    if (state_.redundancy_list.erase(node) == 0) continue;
    state_.wait_list.insert(node);
    changed();
  }
}

void Membership::enter_candidates(int room, Instant now) {
  while (!candidates_.empty() && count() < room) {
    Peer& peer = peers_.at(candidates_.begin()->second);
    want_nothing(peer);
    state_.wait_list.erase(peer.said.node);
    state_.redundancy_list.erase(peer.said.node);
    state_.participants[peer.said.node] = 0;
    changed();
    if (count() != terms_.nodes.min) continue;
    state_.deadline = now.wall + std::chrono::duration_cast<WallClock::duration>(terms_.last_call);
    last_call_ = later(now.time, terms_.last_call);
  }
}

void Membership::form(Instant now) {
  const std::vector<NodeDesc> order = rank_order(state_, round_.ranks());
  complete_round(state_, order);
  Quorum::Past past = quorum_.past_of(order);
  past.old = std::max(past.old, round_.members_in(order));
  past.missing = std::max(past.missing, std::exchange(missing_, 0));
  round_ = FormedRound(state_.round, order, [this](const NodeDesc& node) -> const Attendance* {
    const auto known = by_node_.find(node);
    return known == by_node_.end() ? nullptr : &peers_.at(known->second).said;
  });
  round_.set_past(term_, past.old, past.missing);
  quorum_.form(order, now.time);
  formed_at_ = now.time;
  last_call_ = look_at_quorum_ = never;
  overdue_ = false;
  again_ = false;
  broken_.reset();
  torchrun_.expect_nobody_back();
  if (count() == terms_.nodes.max) {
    state_.redundancy_list.merge(state_.wait_list);
    state_.wait_list.clear();
  }
  for (const auto& [arrival, connection] : candidates_) state_.redundancy_list.insert(peers_.at(connection).said.node);
  changed();
  untold_ = true;
  tell_round();
  for (const auto& [arrival, connection] : candidates_) tell_line(connection, peers_.at(connection), now);
}

// ---- torchrun's agents

const std::string& Membership::text(Instant now) {
  const auto last = std::chrono::duration_cast<WallClock::duration>(std::min(heartbeats_last, terms_.silence / 3));
  const bool old = !peers_.empty() && (now.wall >= rendered_ + last || now.wall < rendered_);
  if (!text_.empty() && !old) return text_;
  for (const auto& [node, connection] : by_node_)
    if (state_.listed(node)) state_.last_heartbeats[node] = now.wall;
  for (const NodeDesc& node : round_.departed())
    if (state_.listed(node)) state_.last_heartbeats[node] = now.wall;
  rendered_ = now.wall;
  text_ = write_state(state_);
  return text_;
}

Status Membership::adopt(ConnectionId writer, const std::string& text, Instant now) {
  auto read = read_state(text);
  if (!read) return read.error();
  if (!may_follow(state_, *read)) return protocol_error("the state of the rendezvous: no agent writes it now");
  const ElasticState before = std::exchange(state_, *std::move(read));
  text_ = text;
  torchrun_.look_at(state_);
  for (const auto& [node, heartbeat] : state_.last_heartbeats)
    if (!by_node_.contains(node)) torchrun_.learn({writer, before, state_}, node, now.time);
  if (!state_.deadline) {
    last_call_ = never;
  } else if (state_.deadline != before.deadline || last_call_ == never) {
    last_call_ = later(now.time, terms_.last_call);
  }
  if (before.complete) {
    const bool turned = !std::exchange(state_.complete, true);  // until its members have been told
    for (RoundBroken& why : torchrun_.who_left({writer, before, state_}, later(now.time, terms_.silence)))
      break_up(std::move(why));
    state_.complete = !turned;
    if (!state_.complete) turn(now);
  }
  // A node that was taken for dead although it attends joins again.
  for (auto& [connection, peer] : peers_)
    if (peer.said.wish == Wish::join && peer.waiting && !state_.participants.contains(peer.said.node))
      want_in(connection, peer);
  if (!before.complete && state_.complete) {
    state_.complete = false;  // to form it with our order of ranks, which keeps rank 0 where it was
    if (!host_leaves_) form(now);
  }
  settle(now);
  return {};
}

Time Membership::deadline() const {
  if (moved_) return never;
  // torchrun may start the last call with fewer nodes than our minimum.
  const bool may_form = !state_.complete && !state_.closed && !host_leaves_ && count() >= terms_.nodes.min && !overdue_;
  Time next = may_form ? last_call_ : never;
  if (!impatient_.empty() || !doomed_.empty()) next = std::min(next, later(formed_at_, torchrun_looks));
  for (const auto& [node, when] : vanished_) next = std::min(next, when);
  return std::min({next, look_at_quorum_, regrouping_.deadline(), torchrun_.deadline(terms_.silence)});
}

void Membership::on_deadline(Instant now) {
  regrouping_.on_deadline(now.time);
  if (now.time >= look_at_quorum_) look_at_quorum(now.time);
  lose_vanished(now);
  for (const NodeDesc& node : torchrun_.take_silent(now.time, terms_.silence)) lose(node, "stopped responding", now);
  if (!too_early(now.time)) {
    for (const NodeDesc& node : std::exchange(doomed_, {})) remove(node, now);
    for (const ConnectionId connection : std::exchange(impatient_, {})) join(connection, peers_.at(connection), now);
  }
  settle(now);
}

}  // namespace launch

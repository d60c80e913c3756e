#include "launch/core/c10d/elastic_rendezvous.hpp"

#include "launch/core/c10d/rendezvous_pickle.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono_literals;
using Cause = RoundBroken::Cause;

constexpr Duration poll = 500ms;

}  // namespace

ElasticRendezvous::ElasticRendezvous(ElasticSettings settings, Random random)
    : settings_(std::move(settings)), lost_writes_(random), key_(state_key(settings_.run_id)) {}

ElasticStep ElasticRendezvous::start(Instant now) {
  phase_ = Phase::founding;
  deadline_ = later(now.time, store_answer_time);
  return {CompareSet{key_, "", std::string(no_state)}, {}};
}

// The number of restarts is in torchrun's store, and no other store can replace that one.
void ElasticRendezvous::join(Time now, int /*restarts*/) {
  if (goal_ == Goal::close) return;
  goal_ = Goal::join;
  give_up_ = later(now, settings_.join_timeout);
  report_ = later(now, first_elastic_report);
  told_broken_ = false;
}

void ElasticRendezvous::close(Time now) {
  goal_ = Goal::close;
  give_up_ = later(now, settings_.close_timeout);
}

void ElasticRendezvous::leave(Time now, std::string /*reason*/) {
  if (goal_ == Goal::close) return;
  goal_ = Goal::leave;
  give_up_ = later(now, settings_.close_timeout);
}

Result<ElasticStep> ElasticRendezvous::on(const Outcome& outcome, Instant now) {
  if (phase_ == Phase::waiting || phase_ == Phase::pausing) return ElasticStep{read(now.time), {}};
  const std::string& text = std::get<Values>(outcome).values.at(0);
  if (phase_ == Phase::writing) lost_writes_.note(text != written_);
  auto state = read_state(text);
  if (!state) return Error{state.error().code, fmt::format("key {}: {}", key_, state.error().message)};
  take(text, *std::move(state), now.time);
  return act(now);
}

void ElasticRendezvous::take(const std::string& text, ElasticState state, Time now) {
  text_ = text;
  // The last call ends by this host's clock, counted from when this node first saw it.
  if (!state.deadline) {
    last_call_ = never;
  } else if (state.deadline != state_.deadline || last_call_ == never) {
    last_call_ = later(now, settings_.last_call_timeout);
  }
  state_ = std::move(state);
  std::map<NodeDesc, Seen> seen;
  for (const auto& [node, heartbeat] : state_.last_heartbeats) {
    const auto before = seen_.find(node);
    const bool same = before != seen_.end() && before->second.heartbeat == heartbeat;
    seen.emplace(node, same ? before->second : Seen{heartbeat, now});
  }
  seen_ = std::move(seen);
}

// One look at the state: what it means for this node, and what this node changes in it.
ElasticStep ElasticRendezvous::act(Instant now) {
  deadline_ = never;
  ElasticState next = state_;
  // Only nodes that leave a round remove its dead members. So a node that has seen the round complete may later miss a
  // member in it, but then it also sees a sign that the round broke up.
  if (goal_ != Goal::none && goal_ != Goal::member) drop_dead(next, now.time);
  pursue(next, now);
  Operation operation = next == state_ ? wait(now.time) : write(next, now.time);
  return {std::move(operation), std::exchange(news_, {})};
}

Operation ElasticRendezvous::read(Time now) {
  phase_ = Phase::reading;
  deadline_ = later(now, store_answer_time);
  return GetKeys{{key_}};
}

Operation ElasticRendezvous::write(const ElasticState& next, Time now) {
  if (const auto backoff = lost_writes_.pause()) {
    phase_ = Phase::pausing;
    deadline_ = later(now, *backoff);
    return AwaitKeys{{std::string(never_key)}};
  }
  phase_ = Phase::writing;
  deadline_ = later(now, store_answer_time);
  written_ = write_state(next);
  return CompareSet{key_, text_, written_};
}

Operation ElasticRendezvous::wait(Time now) {
  phase_ = Phase::waiting;
  wake_by(later(now, poll));
  return AwaitKeys{{std::string(never_key)}};
}

// ---- what this node wants

Time ElasticRendezvous::expiry(Time since) const {
  return later(since, settings_.keep_alive_interval * settings_.keep_alive_max_attempt);
}

void ElasticRendezvous::drop_dead(ElasticState& next, Time now) const {
  for (const auto& [node, seen] : seen_)
    if (node != settings_.self && now >= expiry(seen.since)) remove_node(next, node, settings_.nodes);
}

void ElasticRendezvous::pursue(ElasticState& next, Instant now) {
  switch (goal_) {
    case Goal::none:
      return;
    case Goal::join:
      return try_join(next, now);
    case Goal::member:
      return stay(next, now);
    case Goal::leave:
      if (state_.listed(settings_.self) && now.time < give_up_)
        return remove_node(next, settings_.self, settings_.nodes);
      goal_ = Goal::none;
      news_.emplace_back(RendezvousEnded{});
      return;
    case Goal::close:
      if (!state_.closed && now.time < give_up_) {
        next.closed = true;
        return;
      }
      goal_ = Goal::none;
      news_.emplace_back(RendezvousEnded{});
      return;
  }
}

void ElasticRendezvous::refuse(ErrorCode code, std::string message) {
  goal_ = Goal::none;
  const bool spare = state_.redundancy_list.contains(settings_.self);
  news_.emplace_back(RoundRefused{{code, std::move(message)}, spare, has_begun(state_) && !round_});
}

// A node that waits although the round is full cannot be one of its members, and would not get in if it broke up.
bool ElasticRendezvous::has_room_for_waiting(const ElasticState& state) const {
  return admits_ && !state.wait_list.empty() && static_cast<int>(state.participants.size()) < settings_.nodes.max;
}

// The complete round has this node in it, and is not the one that it left.
bool ElasticRendezvous::formed(Time now) {
  if (!state_.complete || !state_.participants.contains(settings_.self) || state_.round == round_) return false;
  std::vector<NodeDesc> members(state_.participants.size());
  for (const auto& [node, rank] : state_.participants)
    if (static_cast<std::size_t>(rank) < members.size()) members[static_cast<std::size_t>(rank)] = node;
  const bool whole = std::find(members.begin(), members.end(), NodeDesc()) == members.end();
  round_ = state_.round;
  formed_at_ = now;
  mixed_ = std::any_of(state_.participants.begin(), state_.participants.end(),
                       [](const auto& entry) { return !is_launch(entry.first); });
  // It broke up before this node saw it. But if torchrun's agents are in it, this node takes part: they wait for its
  // answers before they see that.
  if (!whole || (!mixed_ && has_room_for_waiting(state_))) return false;
  goal_ = Goal::member;
  ranks_ = state_.participants;
  const NodeRank rank(ranks_.at(settings_.self));
  RoundFormed news{state_.round, rank, static_cast<int>(members.size()), members.front(), {}, std::nullopt};
  for (const auto& [node, its_rank] : ranks_)
    if (!is_launch(node)) news.torchrun.emplace_back(its_rank);
  std::sort(news.torchrun.begin(), news.torchrun.end());
  news_.emplace_back(std::move(news));
  return true;
}

// torchrun's agents look once a second: a round must not break up before they have seen it complete.
bool ElasticRendezvous::leaves_too_early(Time now) {
  if (!mixed_ || now >= later(formed_at_, torchrun_looks)) return false;
  wake_by(later(formed_at_, torchrun_looks));
  return true;
}

void ElasticRendezvous::try_join(ElasticState& next, Instant now) {
  const NodeDesc& self = settings_.self;
  if (state_.closed) return refuse(ErrorCode::closed, "the rendezvous is closed");
  if (formed(now.time)) {
    next = state_;
    return stay(next, now);
  }
  if (next.complete && next.round == round_ && next.participants.contains(self)) {
    if (leaves_too_early(now.time)) return keep_alive(next, now);
    remove_node(next, self, settings_.nodes);  // it restarts
  }
  // A spare stands by for as long as the job runs.
  if (now.time >= give_up_ && !next.redundancy_list.contains(self)) {
    if (next.listed(self)) {
      came_ = state_.participants.size() + state_.wait_list.size();
      return remove_node(next, self, settings_.nodes);
    }
    return refuse(ErrorCode::timeout, fmt::format("the rendezvous timed out after {}: {} of at least {} nodes joined",
                                                  to_text(settings_.join_timeout), came_, settings_.nodes.min));
  }
  const int count = static_cast<int>(next.participants.size());
  if (next.redundancy_list.contains(self) && count < settings_.nodes.max && (admits_ || !next.complete)) {
    remove_node(next, self, settings_.nodes);
    give_up_ = later(now.time, settings_.join_timeout);
  }
  if (!next.complete) {
    if (!next.participants.contains(self)) {
      enter(next, now.wall);
    } else if (count >= settings_.nodes.min && count <= settings_.nodes.max && now.time >= last_call_) {
      complete_round(next, rank_order(next, ranks_));
    }
  } else if (!next.listed(self)) {
    const bool room = count < settings_.nodes.max && admits_;
    (room ? next.wait_list : next.redundancy_list).insert(self);
    next.last_heartbeats[self] = now.wall;
  }
  keep_alive(next, now);
  if (now.time >= report_) {
    report_ = later(now.time, settings_.report_interval);
    news_.emplace_back(RoundWaits{count, next.redundancy_list.contains(self), give_up_ - now.time, has_begun(next)});
  }
  wake_by(report_);
  if (!next.redundancy_list.contains(self)) wake_by(give_up_);
  if (!next.complete && last_call_ > now.time) wake_by(last_call_);
}

void ElasticRendezvous::enter(ElasticState& next, WallTime wall) const {
  next.wait_list.erase(settings_.self);
  next.participants[settings_.self] = 0;
  next.last_heartbeats[settings_.self] = wall;
  const int count = static_cast<int>(next.participants.size());
  if (count == settings_.nodes.min)
    next.deadline = wall + std::chrono::duration_cast<WallClock::duration>(settings_.last_call_timeout);
  if (count == settings_.nodes.max) complete_round(next, rank_order(next, ranks_));
}

void ElasticRendezvous::keep_alive(ElasticState& next, Instant now) {
  const auto own = seen_.find(settings_.self);
  if (own == seen_.end() || !next.last_heartbeats.contains(settings_.self)) return;
  const Time due = later(own->second.since, settings_.keep_alive_interval);
  if (now.time >= due) {
    next.last_heartbeats[settings_.self] = now.wall;
  } else {
    wake_by(due);
  }
}

void ElasticRendezvous::stay(ElasticState& next, Instant now) {
  keep_alive(next, now);
  if (told_broken_) return;
  ElasticState view = next;
  drop_dead(view, now.time);
  auto broken = find_break(view);
  if (!broken) return;
  told_broken_ = true;
  news_.emplace_back(*std::move(broken));
}

std::optional<RoundBroken> ElasticRendezvous::find_break(const ElasticState& next) const {
  const bool same_round = next.complete && next.round == round_;
  for (const auto& [node, rank] : ranks_) {
    if (same_round && next.participants.contains(node)) continue;
    if (node == settings_.self) return RoundBroken{"the other nodes believe that this one is dead"};
    if (next.wait_list.contains(node) || next.participants.contains(node))
      return RoundBroken{to_text(node) + " restarts", is_launch(node) ? Cause::restart : Cause::change};
    if (state_.last_heartbeats.contains(node))
      return RoundBroken{to_text(node) + " stopped responding", Cause::loss, NodeRank(rank)};
    return RoundBroken{to_text(node) + " has left", Cause::change, NodeRank(rank)};
  }
  if (has_room_for_waiting(next)) return RoundBroken{to_text(*next.wait_list.begin()) + " joins"};
  return std::nullopt;
}

}  // namespace launch

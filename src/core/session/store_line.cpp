#include "launch/core/session/store_line.hpp"

#include "launch/core/base/backoff.hpp"
#include "launch/core/rendezvous/liveness.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr int refusals_needed = 2;  // a proxy, or a service without endpoints, may refuse for a moment
constexpr Duration between_refusals = 20ms;
constexpr Duration shortest_look = 100ms;

}  // namespace

StoreLine::StoreLine(Stage& stage, const Config& config)
    : stage_(stage), config_(config), door_{{}, new_name()}, witness_(stage) {}

std::string StoreLine::new_name() const {
  return may_move() ? fmt::format("{:016x}", stage_.random().next()) : std::string();
}

Talk<void> StoreLine::open_door(NodeDesc own, std::string address) {
  if (door_.at.port != 0 || !may_move()) co_return;
  Question open = OpenDoor{address, std::move(own)};
  auto opening = stage_.ask<DoorOpened>(std::move(open));
  const DoorOpened opened = co_await opening;
  if (opened.port != 0) door_.at = {std::move(address), opened.port};
}

void StoreLine::learn(const ElasticNews& news) {
  if (!may_move()) return;
  if (const auto* formed = std::get_if<RoundFormed>(&news)) {
    tell_of_move();
    last_ = formed->succession;
    comes_back_ = false;
    host_.reset();
    ended_ = last_.ended;
  }
  const auto* waits = std::get_if<RoundWaits>(&news);
  if (waits == nullptr || waits->succession.round < last_.round) return;
  const bool newer = waits->succession.round > last_.round;
  if (newer) ended_.clear();  // those are ranks of the earlier round
  add_ended(ended_, waits->succession);
  if (!newer) return;
  last_ = waits->succession;
  for (std::size_t at = 0; host_ && at < last_.line.size(); ++at) {
    if (last_.line[at].node != host_->node) continue;
    host_ = last_.line[at];
    term_ = last_.term + static_cast<int>(at) + 1;
    return;
  }
  if (host_) host_->rank = NodeRank::none();
}

void StoreLine::forget() {
  last_ = {};
  comes_back_ = false;
  host_.reset();
  ended_.clear();
}

void StoreLine::begin_anew() {
  forget();
  door_ = {{}, new_name()};
}

HostedRendezvous::Seat StoreLine::seat(bool hosts) const {
  const bool can_host = hosts || door_.at.port != 0;
  HostedRendezvous::Seat seat{can_host ? door_ : StoreDoor(), hosts, std::nullopt};
  if (!comes_back_) return seat;
  const Duration wait = wait_after_host(config_.heartbeat_timeout, config_.c10d()->settings.nodes.max);
  seat.comeback = Comeback{last_, term_, left_, ended_, wait};
  seat.comeback->last.ended.clear();
  return seat;
}

Talk<Result<bool>> StoreLine::has_name(StoreLink& link, std::string name, Time by) {
  auto looked = co_await link.check(KeyList(1, store_name_key(name)), by);
  if (!looked) co_return looked.error();
  co_return looked->at(0);
}

const std::string& StoreLine::name_of_last() const { return host_ ? host_->door.store : last_.store; }

Talk<bool> StoreLine::is_same(StoreLink& link, Time by) {
  if (!leads_on()) co_return true;
  const auto same = co_await has_name(link, name_of_last(), by);
  co_return same&&* same;
}

Talk<bool> StoreLine::is_gone(Endpoint store, Time by) {
  Backoff backoff(between_refusals, 2 * between_refusals, stage_.random());
  for (int refusals = 0; refusals < refusals_needed;) {
    auto there = co_await knock(stage_, store, by);
    if (there) {
      const auto same = co_await has_name(*there, name_of_last(), by);
      if (same) co_return !*same;
    }
    const bool refused = !there && there.error().code == ErrorCode::no_listener;
    refusals = refused ? refusals + 1 : 0;
    const Time next = later(stage_.moment(), backoff.next());
    if (refusals >= refusals_needed) break;
    if (next >= by) co_return false;
    auto pause = stage_.until(next);
    co_await pause;
  }
  co_return true;
}

Talk<Result<StoreLink>> StoreLine::reach(StoreDoor door, Time by) {
  Backoff backoff(10ms, 500ms, stage_.random());
  while (true) {
    auto link = co_await knock(stage_, door.at, by);
    Error reason{ErrorCode::conflict, "another store listens there"};
    if (link) {
      const auto same = co_await has_name(*link, door.store, by);
      if (same && *same) co_return *std::move(link);
      if (!same) reason = same.error();
    } else {
      reason = link.error();
    }
    const bool final = reason.code == ErrorCode::no_listener || reason.code == ErrorCode::conflict;
    const Time next = later(stage_.moment(), backoff.next());
    if (final || next >= by) co_return reason;
    auto pause = stage_.until(next);
    co_await pause;
  }
}

void StoreLine::watch_host(Endpoint store, NodeDesc self) {
  if (!leads_on()) return;
  Attendance said;
  said.wish = Attendance::Wish::witness;
  said.node = std::move(self);
  said.member.local_world_size = 1;  // what an attendance must have
  said.nodes = {1, 1};
  witness_.watch(std::move(store), Attend{state_key(config_.run_id), to_json(said)});
}

Talk<bool> StoreLine::has_ended(const StoreLink& link, Time by) {
  if (link.hung_up()) co_return true;
  co_return co_await witness_.has_seen_end(by);
}

void StoreLine::settle_at(const Heir& heir, const Endpoint& first) {
  const std::string from = last_.host_node.addr.empty() ? to_text(first) : last_.host_node.addr;
  moved_ = HostMoved{from, heir.node.addr, term_, heir.door.at};
}

void StoreLine::tell_of_move() {
  auto moved = std::exchange(moved_, std::nullopt);
  if (!moved) return;
  stage_.say(Say::Level::info, fmt::format("the node that hosted the rendezvous ({}) is gone; {} hosts it now, at {}",
                                           moved->from, moved->to, to_text(moved->at)));
  stage_.act(*std::move(moved));
}

// The connection to it was closed in order, so its process has ended.
void StoreLine::leave_last() {
  left_ = comes_back_ ? term_ : last_.term;
  if (host_ && host_->rank.known()) ended_.push_back(host_->rank);
  comes_back_ = true;
  host_.reset();
}

Talk<Result<StoreLine::Next>> StoreLine::find_next(NodeDesc self, Time give_up) {
  leave_last();
  term_ = last_.term;
  for (const Heir& heir : last_.line) {
    ++term_;
    if (term_ <= left_) continue;  // it has ended, or did not answer before
    host_ = heir;
    if (heir.node == self) co_return Next{heir, true, std::nullopt};
    // The first may have stood still when the host ended, and the others must not go past it.
    auto link = co_await reach(heir.door, later(stage_.moment(), (give_up - stage_.moment()) / 2));
    if (link) co_return Next{heir, false, *std::move(link)};
    if (give_up - stage_.moment() < shortest_look) break;
  }
  host_.reset();
  co_return Error{ErrorCode::closed, "no node that could host the job's store can be reached"};
}

}  // namespace launch

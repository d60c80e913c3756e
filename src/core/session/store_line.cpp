#include "launch/core/session/store_line.hpp"

#include "launch/core/base/backoff.hpp"
#include "launch/core/rendezvous/liveness.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration between_knocks = 500ms;
constexpr Duration longest_knock = 1s;

}  // namespace

Talk<void> StoreLine::open_door(std::string address) {
  if (door_.port != 0 || !goes_on_without_a_node(config_)) co_return;
  Question listen = Listen{OwnStore::job, {address, 0}, false, true};
  auto listening = stage_.ask<Listening>(std::move(listen));
  const Listening opened = co_await listening;
  if (opened.status) door_ = {std::move(address), opened.port};
}

void StoreLine::learn(const ElasticNews& news) {
  if (const auto* formed = std::get_if<RoundFormed>(&news)) {
    last_ = formed->succession;
    comes_back_ = false;
    ended_.clear();
  }
  if (const auto* waits = std::get_if<RoundWaits>(&news)) {
    if (waits->succession.round > last_.round) last_ = waits->succession;
  }
}

HostedRendezvous::Seat StoreLine::seat(bool hosts) const {
  HostedRendezvous::Seat seat{door_, hosts, std::nullopt};
  if (!comes_back_) return seat;
  const Duration wait = plan_heartbeat(config_.heartbeat_timeout, config_.nnodes()).silence;
  seat.comeback = Comeback{last_, term_, ended_, wait};
  return seat;
}

bool StoreLine::has_ended(NodeRank rank) const { return std::find(ended_.begin(), ended_.end(), rank) != ended_.end(); }

// The connection is closed again.
Talk<Status> StoreLine::knock(Endpoint door, Time by) {
  const LinkId id = stage_.new_link();
  Question question = OpenLink{id, std::move(door), by};
  auto opening = stage_.ask<Opened>(std::move(question));
  const Opened opened = co_await opening;
  if (!opened.status) co_return opened.status.error();
  const StoreLink link(stage_, id, opened);
  co_return Status();
}

Talk<bool> StoreLine::is_gone(Endpoint store, Time by) {
  Backoff backoff(5ms, 50ms, stage_.random());
  while (true) {
    const Status there = co_await knock(store, by);
    if (there) co_return false;
    if (there.error().code == ErrorCode::no_listener) co_return true;
    const Time next = later(stage_.moment(), backoff.next());
    if (next >= by) co_return false;
    auto pause = stage_.until(next);
    co_await pause;
  }
}

// An error `no_listener`: its process has ended.
Talk<Result<StoreLink>> StoreLine::reach(Endpoint door, Time by) {
  Backoff backoff(10ms, 500ms, stage_.random());
  while (true) {
    const LinkId id = stage_.new_link();
    Question question = OpenLink{id, door, by};
    auto opening = stage_.ask<Opened>(std::move(question));
    const Opened opened = co_await opening;
    if (opened.status) co_return StoreLink(stage_, id, opened);
    const Error& reason = opened.status.error();
    const Time next = later(stage_.moment(), backoff.next());
    if (reason.code == ErrorCode::no_listener || next >= by) co_return reason;
    auto pause = stage_.until(next);
    co_await pause;
  }
}

Talk<Result<StoreLine::Next>> StoreLine::find_next(NodeDesc self, Time give_up) {
  const Duration timeout = config_.heartbeat_timeout;
  comes_back_ = true;
  ended_.clear();
  term_ = last_.term;
  for (const Heir& heir : last_.line) {
    ++term_;
    if (heir.node == self) co_return Next{heir, true, std::nullopt};
    const Time patience = timeout > Duration::zero() ? later(stage_.moment(), timeout) : never;
    auto link = co_await reach(heir.door, std::min(give_up, patience));
    if (link) co_return Next{heir, false, *std::move(link)};
    if (link.error().code == ErrorCode::no_listener) ended_.push_back(heir.rank);
    if (stage_.moment() >= give_up) break;
  }
  co_return Error{ErrorCode::closed, "no node that could host the job's store is left"};
}

Talk<void> StoreLine::watch_doors(NodeDesc self, std::function<void(std::vector<NodeRank> ended)> on_ended) {
  while (comes_back_) {
    for (std::size_t at = 0; at < last_.line.size(); ++at) {
      const Heir heir = last_.line[at];
      if (!comes_back_ || heir.node == self || has_ended(heir.rank)) continue;
      const Status there = co_await knock(heir.door, later(stage_.moment(), longest_knock));
      if (there || there.error().code != ErrorCode::no_listener || !comes_back_) continue;
      ended_.push_back(heir.rank);
      on_ended(ended_);
    }
    auto pause = stage_.until(later(stage_.moment(), between_knocks));
    co_await pause;
  }
}

}  // namespace launch

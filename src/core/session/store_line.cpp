#include "launch/core/session/store_line.hpp"

#include "launch/core/base/announcer.hpp"
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
constexpr Duration first_knock = 300ms;  // less than until a packet that was lost comes again
constexpr Duration shortest_look = 100ms;
constexpr Duration shortest_wait = 1ms;
constexpr Duration look_at_place = 1s;  // for the job at one place

}  // namespace

StoreLine::StoreLine(Stage& stage, const Config& config)
    : stage_(stage), config_(config), door_{{}, new_name()}, witness_(stage) {}

std::string StoreLine::new_name() const {
  return may_move() ? fmt::format("{:016x}", stage_.random().next()) : std::string();
}

Talk<void> StoreLine::open_door(NodeDesc own, std::string address, std::vector<Endpoint> listed) {
  if (door_.at.port != 0 || !may_move()) co_return;
  std::vector<std::uint16_t> ports;
  ports.reserve(listed.size());
  for (const Endpoint& place : listed) ports.push_back(place.port);
  Question open = OpenDoor{address, std::move(own), ports};
  auto opening = stage_.ask<DoorOpened>(std::move(open));
  const DoorOpened opened = co_await opening;
  if (opened.port != 0) door_.at = {std::move(address), opened.port};
  const bool is_listed = std::find(ports.begin(), ports.end(), opened.port) != ports.end();
  if (opened.port != 0 && !ports.empty() && !is_listed)
    stage_.say(Say::Level::info,
               fmt::format("port {} {}, at which --rdzv-endpoint expects this node; it would host the store at port "
                           "{}, which nodes that come later learn from others of the list only",
                           ports.front(), opened.taken ? "is taken" : "cannot be opened", opened.port));
}

// All of them, as this node knows now, know the round.
void StoreLine::learn(const ElasticNews& news, const std::optional<Endpoint>& store) {
  if (!may_move()) return;
  if (std::holds_alternative<WillLeft>(news) && is_by_majority()) last_.settle();
  if (const auto* formed = std::get_if<RoundFormed>(&news)) {
    tell_of_move();
    last_ = formed->succession;
    comes_back_ = false;
    host_.reset();
    anew_ = false;
    ended_ = last_.ended;
    know_places(store);
  }
  const auto* waits = std::get_if<RoundWaits>(&news);
  if (waits != nullptr && waits->may_go_on()) tell_of_move();
  if (waits == nullptr || last_.is_after(waits->succession)) return;
  const bool newer = waits->succession.is_after(last_);
  if (newer) ended_.clear();  // those are ranks of the earlier round
  add_ended(ended_, waits->succession);
  if (!newer) return;
  if (waits->succession.store != last_.store) host_ended_ = false;  // it was the earlier host
  last_ = waits->succession;
  know_places(store);
  for (std::size_t at = 0; host_ && at < last_.line.size(); ++at) {
    if (last_.line[at].node != host_->node) continue;
    host_ = last_.line[at];
    term_ = last_.term + static_cast<int>(at) + 1;
    return;
  }
  if (host_) host_->rank = NodeRank::none();
}

void StoreLine::know_places(const std::optional<Endpoint>& store) {
  if (!leads_on()) return;
  places_.clear();
  if (store && last_.store != door_.store) places_.push_back({*store, last_.store});
  for (const Heir& heir : last_.line)
    if (heir.door.store != door_.store) places_.push_back(heir.door);
}

void StoreLine::forget() {
  last_ = {};
  comes_back_ = false;
  host_.reset();
  ended_.clear();
}

void StoreLine::come_to(const MovedJob& job, Time left) {
  const auto is_host = [&](const Heir& heir) { return heir.node == job.host; };
  const auto heir = std::find_if(last_.line.begin(), last_.line.end(), is_host);
  const bool follows = is_by_majority() && heir != last_.line.end();
  if (!follows) return come_anew();
  const Heir host = *heir;
  note_heard(left);
  leave_last(false);
  moved_.reset();
  host_ = host;
  term_ = job.term;
  anew_ = true;
}

void StoreLine::begin_anew() { door_ = {{}, new_name()}; }

HostedRendezvous::Seat StoreLine::seat(bool hosts) const {
  const bool can_host = hosts || door_.at.port != 0;
  HostedRendezvous::Seat seat{can_host ? door_ : StoreDoor(), hosts, std::nullopt};
  const int nodes = config_.c10d()->settings.nodes.max;
  const LeasePlan lease = plan_lease(config_.heartbeat_timeout, nodes);
  if (is_by_majority()) seat.lease = lease.answers;
  seat.anew = anew_ && is_by_majority();
  if (!comes_back_) return seat;
  seat.comeback = Comeback{last_, term_, left_, ended_, wait_after_host(config_.heartbeat_timeout, nodes)};
  if (is_by_majority()) {
    seat.comeback->wait = std::max<Duration>(lease.others - (stage_.moment() - heard_at_), shortest_wait);
    seat.comeback->limit = lease.others;
  }
  seat.comeback->host_ended = host_ended_;
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
  Duration patience = first_knock;
  for (int refusals = 0; refusals < refusals_needed;) {
    auto there = co_await knock(stage_, store, std::min(by, later(stage_.moment(), patience)));
    patience *= 2;
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
  const Attendance said = visit(Attendance::Wish::witness, std::move(self));
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

void StoreLine::leave_last(bool host_ended) {
  left_ = comes_back_ ? term_ : last_.term;
  if (!comes_back_) host_ended_ = host_ended;
  if (host_ && host_->rank.known() && host_ended) ended_.push_back(host_->rank);
  comes_back_ = true;
  host_.reset();
}

Talk<Result<StoreLine::Next>> StoreLine::find_next(Leaver self, Time give_up) {
  leave_last(self.host_ended);
  term_ = last_.term;
  for (const Heir& heir : last_.line) {
    ++term_;
    if (term_ <= left_) continue;  // it has ended, or did not answer before
    host_ = heir;
    if (heir.node == self.node) co_return Next{heir, true, std::nullopt};
    // The first may have stood still when the host ended, and the others must not go past it.
    auto link = co_await reach(heir.door, later(stage_.moment(), (give_up - stage_.moment()) / 2));
    if (link) co_return Next{heir, false, *std::move(link)};
    if (give_up - stage_.moment() < shortest_look) break;
  }
  host_.reset();
  co_return Error{ErrorCode::closed, "no node that could host the job's store can be reached"};
}

std::string StoreLine::places() const {
  std::string text;
  for (const StoreDoor& place : places_) text += (text.empty() ? "" : ", ") + to_text(place.at);
  return text;
}

// Only a store that is open tells how many have come.
Talk<std::optional<StoreLink>> StoreLine::find_job_at(StoreDoor place, NodeDesc self, Time by) {
  auto link = co_await reach(std::move(place), by);
  if (!link) co_return std::nullopt;
  const Attendance said = visit(Attendance::Wish::look, std::move(self));
  Operation look = Attend{state_key(config_.run_id), to_json(said)};
  auto told = co_await link->perform(std::move(look), by);
  if (!told || !std::holds_alternative<Told>(*told)) co_return std::nullopt;
  co_return std::optional(*std::move(link));
}

Talk<Result<StoreLink>> StoreLine::find_job(NodeDesc self, Time give_up) {
  Announcer announcer(stage_.moment());
  Backoff backoff(100ms, 1s, stage_.random());
  const Error in_vain{ErrorCode::timeout, "this node is cut off from the others, or these are too few to go on"};
  while (!places_.empty()) {
    if (announcer.due(stage_.moment(), stage_.report_interval()))
      stage_.say(Say::Level::progress, fmt::format("{}; looking for the job at {}; giving up in {}", in_vain.message,
                                                   places(), to_text(give_up - stage_.moment())));
    for (std::size_t at = 0; at < places_.size(); ++at) {
      const Time by = std::min(give_up, later(stage_.moment(), look_at_place));
      auto link = co_await find_job_at(places_[at], self, by);
      if (link) co_return *std::move(link);
    }
    const Time next = later(stage_.moment(), backoff.next());
    if (next >= give_up) break;
    auto pause = stage_.until(next);
    co_await pause;
  }
  co_return in_vain;
}

}  // namespace launch

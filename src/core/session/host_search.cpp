#include "launch/core/session/host_search.hpp"

#include "launch/core/session/old_address.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration look_at_store = 1s;   // time to see whether a store that closed the connection is still there
constexpr Duration for_witness = 500ms;  // a packet that was lost comes again after 200 ms
constexpr std::string_view nameless_job = "none";  // the id of a job that was given none: others have the same

Allegiance allegiance_of(const Config& config) {
  return serves_majority(config) ? Allegiance::majority : Allegiance::host;
}

}  // namespace

HostSearch::HostSearch(Stage& stage, const Config& config, StorePlace& place, StoreOwner& owner)
    : stage_(stage),
      config_(config),
      choice_(*config.c10d()),
      place_(place),
      wants_(place.wants),
      owner_(owner),
      heartbeat_(plan_heartbeat(config.heartbeat_timeout, choice_.settings.nodes.max, allegiance_of(config))),
      line_(stage, config),
      found_out_(stage),
      scope_(stage) {}

NodeDesc HostSearch::self() const {
  return {choice_.address.empty() ? config_.hostname : choice_.address, config_.pid, launch_local_id};
}

// Not every connection tells. An etcd that is on this machine, or behind a tunnel, does not.
std::string HostSearch::address_to_others() const {
  std::string own = place_.link->own_address();
  const bool tells = !own.empty() && (choice_.store.kind == StoreKind::tcp || !is_loopback(own));
  return tells ? own : config_.hostname;
}

bool HostSearch::hear(const ElasticNews& news) {
  const auto* moved = std::get_if<RoundMoved>(&news);
  if (moved != nullptr) {
    elder_ = moved->job;
    leaves_ = Error{ErrorCode::conflict, "the job lives at another store, which cannot be reached"};
  }
  const auto* refused = std::get_if<RoundRefused>(&news);
  const bool late = refused != nullptr && refused->error.code == ErrorCode::timeout && line_.is_by_majority();
  if (late && refused->few) {
    leaves_ = refused->error;
    return true;
  }
  const bool formed = std::holds_alternative<RoundFormed>(news);
  const auto* waits = std::get_if<RoundWaits>(&news);
  if (formed) seeks_until_.reset();
  if (formed || (waits != nullptr && !waits->succession.line.empty())) missed_ = false;
  const bool moved_here = place_.hosts && !watches_ && line_.term() > 0;
  const bool enough = std::holds_alternative<WillLeft>(news) || (waits != nullptr && waits->may_go_on());
  if (enough && moved_here && line_.is_by_majority()) tell_at_old_address();
  line_.learn(news, place_.reached);
  if (place_.by_launch && !place_.hosts) line_.watch_host(*place_.reached, self());
  return false;
}

Talk<HostSearch::Way> HostSearch::go_on(Error lost, bool waits) {
  const auto why = std::exchange(leaves_, std::nullopt);
  const bool closed = lost.code == ErrorCode::closed && !wants_.parts();
  const bool silent = lost.code == ErrorCode::silent && !wants_.parts();
  Way way = Way::as_ever;
  bool hurries = false;
  if (elder_) {
    way = co_await give_way(waits);
  } else if (why || seeks_until_) {
    way = Way::in_vain;
  } else if (may_have_ended(lost)) {
    way = co_await find_out(waits);
    hurries = line_.is_by_majority();  // the time of the workers is limited since then
  }
  const bool is_late = grace() < heartbeat_.grace;
  if (way == Way::as_ever && wants_.formed && !wants_.ending)
    owner_.on_doubt((silent || hurries || is_late) && place_.by_launch);
  const bool may_come_back = !place_.hosts || !line_.is_by_majority();  // else it has lost its majority
  if (way == Way::as_ever && (closed || silent) && wants_.formed && place_.by_launch && may_come_back) {
    const bool back = co_await come_back(silent);
    if (back) co_return Way::followed;
  }
  if (way == Way::as_ever && may_leave_silent_host(lost)) way = co_await leave_silent_host(waits);
  const bool is_lost = (closed || silent) && wants_.formed && place_.by_launch;
  const bool may_seek = way == Way::in_vain || (way == Way::as_ever && is_lost);
  const bool seeks = line_.is_by_majority() && may_seek && !wants_.parts() && owner_.goes_on() && line_.knows_places();
  if (seeks) way = co_await seek(waits);
  co_return way;
}

void HostSearch::announce(Announcer& announcer, const Error& reason) const {
  if (announcer.due(stage_.moment(), stage_.report_interval()))
    stage_.say(Say::Level::progress, fmt::format("{}; waiting for the store at {}; giving up in {}", reason.message,
                                                 to_text(place_.store), to_text(place_.give_up - stage_.moment())));
}

// ---- the same store

Talk<Result<StoreLink>> HostSearch::connect_again() {
  Announcer announcer(stage_.moment());
  const std::function<void(const Error&)> on_retry = [&](const Error& reason) { announce(announcer, reason); };
  co_return co_await try_to_connect(stage_, *place_.reached, place_.give_up, on_retry);
}

// The store may have closed the link because it heard nothing of this node for long; or the store itself stalled. One
// that serves a majority is left soon.
Talk<bool> HostSearch::come_back(bool was_silent) {
  // The agent must know before the time of its workers is over.
  const Duration grace = heartbeat_.grace;
  const Duration look = grace > Duration::zero() ? std::min(look_at_store, grace / 2) : look_at_store;
  place_.give_up = later(stage_.moment(), was_silent && !line_.is_by_majority() ? config_.heartbeat_timeout : look);
  auto link = co_await connect_again();
  if (!link || wants_.parts()) co_return false;
  const bool same = co_await line_.is_same(*link, place_.give_up);
  if (!same || wants_.parts()) co_return false;
  // The others of its line are at the store of this node. With a majority it may leave that again: whom its host has
  // given up makes no other part large enough, since most of the others are in the rounds that came after.
  if (!place_.hosts && !line_.is_by_majority()) line_.forget();
  if (place_.last_link) place_.last_link->abandon();  // workers of that round may still run
  missed_ = true;
  place_.last_link.emplace(*std::move(place_.link));
  take(*std::move(link));
  if (wants_.in) forget_last_link();  // no worker of that round is left
  owner_.on_expelled();
  co_return true;
}

// ---- a host that has ended

bool HostSearch::may_have_ended(const Error& lost) const {
  const bool has_line = place_.link && place_.by_launch && line_.leads_on() && !place_.hosts;
  return lost.code == ErrorCode::closed && has_line && owner_.goes_on();
}

// A failure of workers is not told meanwhile.
Talk<HostSearch::Way> HostSearch::find_out(bool waits) {
  finds_out_ = true;
  Way way = Way::as_ever;
  const Duration grace = heartbeat_.grace;
  const Duration look = grace > Duration::zero() ? std::min(for_witness, grace / 2) : for_witness;
  const bool ended = co_await line_.has_ended(*place_.link, later(stage_.moment(), look));
  if (ended) way = co_await follow(waits);
  finds_out_ = false;
  found_out_.ring();
  co_return way;
}

Talk<void> HostSearch::found_out() {
  while (finds_out_) {
    auto found = found_out_.rung(never);
    co_await found;
  }
}

Duration HostSearch::grace() const {
  const auto& last = place_.last_link ? place_.last_link : place_.link;
  if (!last || last->lived_at() == Time()) return heartbeat_.grace;  // it has answered nothing yet
  return grace_in_doubt(heartbeat_, stage_.moment() - last->lived_at());
}

Duration HostSearch::grace_after_end() const {
  const Duration since_answer = stage_.moment() - place_.link->lived_at();
  const int nodes = choice_.settings.nodes.max;
  return line_.is_by_majority() ? grace_under_lease(config_.heartbeat_timeout, nodes, since_answer)
                                : grace_after_host(config_.heartbeat_timeout, nodes, since_answer);
}

// The host cannot have given this node up before it ended. Else it may have gone on with others, and these without it.
bool HostSearch::was_in_touch() const {
  const Time last = std::max(place_.link->lived_at(), place_.connected);
  return !missed_ && (heartbeat_.silence == Duration::zero() || stage_.moment() - last < heartbeat_.silence);
}

// Workers have some time to exit. A node that leaves does not look for the next host: its workers have that time, too.
Talk<HostSearch::Way> HostSearch::follow(bool waits) {
  if (wants_.ending) co_return Way::as_ever;
  const Duration grace = grace_after_end();
  const bool in_touch = was_in_touch();
  const Time seen = stage_.moment();
  if (!waits && grace > Duration::zero()) stage_.act(LimitGrace{grace});
  const Duration look = grace > Duration::zero() ? std::min(look_at_store, grace / 2) : look_at_store;
  const bool gone = co_await line_.is_gone(*place_.reached, later(stage_.moment(), look));
  if (!gone || wants_.ending) co_return Way::as_ever;
  if (wants_.leaving) co_return Way::in_vain;
  const bool goes_on = co_await owner_.still_goes_on();
  if (!goes_on || wants_.ending) co_return Way::as_ever;
  wants_.in = wants_.in || waits;
  const Duration left = std::max(grace - (stage_.moment() - seen), Duration::zero());
  const Duration workers = grace > Duration::zero() ? left : Duration::max();
  owner_.on_host_gone(line_.last(), waits ? std::nullopt : std::optional(workers), true);
  line_.note_heard(stage_.moment());
  place_.link.reset();
  co_return co_await look_for_next(in_touch);
}

// A node that finds nobody gives up as soon as one that has lost a host which is only silent.
Talk<HostSearch::Way> HostSearch::look_for_next(bool host_ended) {
  place_.give_up = later(stage_.moment(), patience_with_host());
  StoreLine::Leaver leaver{self(), host_ended};
  auto next = co_await line_.find_next(std::move(leaver), place_.give_up);
  if (!next || wants_.parts()) co_return Way::in_vain;
  if (next->here) {
    place_.hosts = true;
    Endpoint door = next->heir.door.at;
    if (!is_loopback(door.host)) door.host = "127.0.0.1";
    auto own = co_await connect_quietly(stage_, std::move(door), place_.give_up);
    if (!own) co_return Way::in_vain;
    next->link.emplace(*std::move(own));
    if (!line_.is_by_majority()) tell_at_old_address();
  }
  settle_at(*std::move(next));
  co_return Way::followed;
}

bool HostSearch::is_own_door(const Endpoint& place) const {
  const bool own = std::find(place_.own.begin(), place_.own.end(), place) != place_.own.end();
  return own && place.port == line_.door_port();
}

// A node that was alone for a while must not draw those who run to it: before a majority is here nobody is told.
void HostSearch::tell_at_old_address() {
  if (config_.run_id == nameless_job) return;
  watches_ = true;
  const OldAddress old{
      choice_.store,     choice_.ports, config_.run_id, choice_.settings.nodes, common_settings(config_),
      line_.here(self())};
  if (choice_.places.empty()) scope_.start(watch_old_address(stage_, old));
  for (const Endpoint& place : choice_.places) {
    if (is_own_door(place)) continue;
    OldAddress one = old;
    one.store = place;
    scope_.start(watch_old_address(stage_, std::move(one)));
  }
}

void HostSearch::settle_at(StoreLine::Next next) {
  take(*std::move(next.link));
  place_.reached = place_.link->peer();
  place_.store = next.heir.door.at;
  line_.settle_at(next.heir, choice_.store);
}

// ---- a host that may live

bool HostSearch::may_leave_silent_host(const Error& lost) const {
  const bool is_lost = lost.code == ErrorCode::closed || lost.code == ErrorCode::silent;
  return is_lost && !wants_.parts() && line_.is_by_majority() && line_.leads_on() && place_.link && place_.by_launch &&
         owner_.goes_on();
}

// This node itself may be the host: it has lost its majority.
Talk<HostSearch::Way> HostSearch::leave_silent_host(bool waits) {
  wants_.in = wants_.in || waits;
  owner_.on_host_gone(line_.last(), waits ? std::nullopt : std::optional(grace()), false);
  line_.note_heard(place_.hosts ? stage_.moment() : place_.link->heard_at());  // its own store always reaches it
  leave_link(waits);
  if (place_.hosts) begin_anew();
  co_await keep_door();
  co_return co_await look_for_next(false);
}

// The host must not believe that this node has ended.
void HostSearch::leave_link(bool waits) {
  if (!place_.link) return;
  forget_last_link();
  place_.last_link.emplace(*std::move(place_.link));
  place_.link.reset();
  if (waits || wants_.in) forget_last_link();
}

// ---- a part that is too small

Talk<HostSearch::Way> HostSearch::seek(bool waits) {
  wants_.in = wants_.in || waits;
  if (!seeks_until_) seeks_until_ = later(stage_.moment(), choice_.settings.join_timeout);
  leave_link(waits);
  if (place_.hosts) begin_anew();
  co_await keep_door();
  auto link = co_await line_.find_job(self(), *seeks_until_);
  if (!link || wants_.parts()) co_return Way::in_vain;
  line_.come_anew();
  Endpoint there = link->peer();
  move_to(*std::move(link), std::move(there));
  co_return Way::followed;
}

void HostSearch::move_to(StoreLink link, Endpoint store) {
  take(std::move(link));
  place_.reached = place_.link->peer();
  place_.store = std::move(store);
  if (choice_.address.empty()) place_.address = address_to_others();
}

// ---- another job of the same id

// A node that hosts the younger job ends its store when all others have heard of that, and resets what is left: its
// process has not ended.
Talk<HostSearch::Way> HostSearch::give_way(bool waits) {
  const MovedJob job = *std::exchange(elder_, std::nullopt);
  if (wants_.parts()) co_return Way::in_vain;
  wants_.in = wants_.in || waits;
  stage_.say(Say::Level::info, fmt::format("the job {} lives elsewhere: {} hosts it now; this node joins it there",
                                           config_.run_id, job.host.addr));
  owner_.on_elder(job, waits);
  place_.give_up = later(stage_.moment(), patience_with_host());
  auto link = co_await line_.reach(job.door, place_.give_up);
  if (!link || wants_.parts()) co_return Way::in_vain;
  place_.link.reset();
  if (place_.hosts) co_await abandon_store();
  line_.come_to(job, stage_.moment());
  move_to(*std::move(link), job.door.at);
  co_return Way::followed;
}

Talk<void> HostSearch::abandon_store() {
  auto leaving = stage_.ask<Clients>(AwaitNoClients{Clientele::agents, later(stage_.moment(), look_at_store)});
  (void)co_await leaving;
  begin_anew();
}

// Others that look for the job at the places of a list must hear that there is one, though nobody may reach it now.
Talk<void> HostSearch::keep_door() {
  if (choice_.places.empty() || !line_.knows_places()) co_return;
  stage_.act(PointTo{state_key(config_.run_id), line_.last_place()});  // before anybody can ask
  co_await line_.open_door(self(), place_.address, place_.own);
}

// All connections to the store are reset.
void HostSearch::begin_anew() {
  scope_.give_up();
  watches_ = false;
  place_.hosts = place_.could_host = false;
  line_.begin_anew();
  stage_.act(PrepareStore{heartbeat_.silence, line_.name(), {}, config_.run_id});
}

}  // namespace launch

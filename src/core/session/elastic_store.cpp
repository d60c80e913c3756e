#include "launch/core/session/elastic_store.hpp"

#include "launch/core/base/announcer.hpp"
#include "launch/core/c10d/elastic_rendezvous.hpp"
#include "launch/core/session/dialogs.hpp"
#include "launch/core/session/old_address.hpp"
#include "launch/core/session/port_row.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration second_look = 1s;  // time to see whether a store that closed the connection is still there
constexpr Duration for_witness = 100ms;
constexpr std::string_view nameless_job = "none";  // the id of a job that was given none: others have the same

ElasticSettings with_self(const Config& config, const C10dChoice& choice, Duration report_interval) {
  ElasticSettings settings = choice.settings;
  settings.run_id = config.run_id;
  settings.common = common_settings(config);
  settings.report_interval = report_interval;
  settings.member = Member{NodeRank(), config.role, config.nproc_per_node};
  return settings;
}

}  // namespace

ElasticStore::ElasticStore(Stage& stage, const Config& config, const C10dChoice& choice, Owner& owner)
    : stage_(stage),
      config_(config),
      choice_(choice),
      owner_(owner),
      heartbeat_(plan_heartbeat(config.heartbeat_timeout, choice.settings.nodes.max)),
      store_(choice.store),
      line_(stage, config),
      found_out_(stage),
      ended_(stage),
      scope_(stage) {}

NodeDesc ElasticStore::self() const {
  return {choice_.address.empty() ? config_.hostname : choice_.address, config_.pid, launch_local_id};
}

Talk<Status> ElasticStore::open() {
  stage_.act(PrepareStore{heartbeat_.silence, line_.name(), {}, config_.run_id});
  if (!choice_.is_host.value_or(false)) co_return Status();
  const Listening opened = co_await listen_in_row(stage_, store_, choice_.ports);
  hosts_ = opened.status.has_value();
  port_ = opened.port;
  // The agent that had the port was killed, but its connections keep the port. This node tries again while it looks for
  // a store.
  could_host_ = opened.cooling;
  if (!could_host_) co_return opened.status;
  say_wait_for_port(stage_, choice_.store.port);
  co_return Status();
}

// Not in open(), during which no signal is heard: a name server may not answer.
Talk<void> ElasticStore::find_out_who_hosts() {
  Question locate = LocateHost{choice_.store.host, config_.hostname, give_up_};
  auto locating = stage_.ask<Whereabouts>(std::move(locate));
  const Whereabouts found = co_await locating;
  if (found.here && found.elsewhere)
    stage_.say(Say::Level::warning, fmt::format("the name {} stands for this machine and for others, and each of them "
                                                "would host the store; name one of them in --rdzv-endpoint",
                                                choice_.store.host));
  could_host_ = found.here;
  co_await try_to_host();
}

// Another agent of this machine may have been first, and may be gone later: then this one takes its place.
Talk<void> ElasticStore::try_to_host() {
  if (!could_host_ || hosts_) co_return;
  Question listen = Listen{OwnStore::job, choice_.store, false, true};
  auto listening = stage_.ask<Listening>(std::move(listen));
  const Listening opened = co_await listening;
  hosts_ = opened.status.has_value();
  port_ = opened.port;
}

// torchrun's agents look only at the heartbeats in the state.
Duration ElasticStore::longest_stall(bool with_launch_agents) const {
  if (heartbeat_.patience == Duration::zero()) return Duration::zero();
  const ElasticSettings& settings = choice_.settings;
  return by_launch_ && with_launch_agents ? launch::longest_stall(config_.heartbeat_timeout, settings.nodes.max)
                                          : settings.keep_alive_interval * (settings.keep_alive_max_attempt - 1);
}

// ---- wishes

void ElasticStore::join(bool admits, int restarts) {
  restarts_ = restarts;
  wants_in_ = true;
  last_link_.reset();  // no worker is left
  admits_ = admits && !choice_.joins_wait;
  if (machine_) {
    if (!admits_) machine_->admit_nobody();
    machine_->join(stage_.moment(), restarts_);
    return wake();
  }
  if (std::exchange(running_, true)) return;
  scope_.start(run());
}

Talk<void> ElasticStore::end(Time deadline) {
  ending_ = true;
  while (link_ && !done_ && !lost_ && stage_.moment() < deadline) {
    auto ended = ended_.rung(deadline);
    co_await ended;
  }
  scope_.give_up();
}

// ---- the link

Talk<Result<StoreLink>> ElasticStore::look_for_store(Endpoint endpoint, bool may_host) {
  Announcer announcer(stage_.moment());
  const std::function<void(const Error&)> on_retry = [&](const Error& reason) {
    if (may_host) scope_.start(try_to_host());
    if (announcer.due(stage_.moment(), stage_.report_interval()))
      stage_.say(Say::Level::progress, fmt::format("{}; waiting for the store at {}; giving up in {}", reason.message,
                                                   to_text(store_), to_text(give_up_ - stage_.moment())));
  };
  if (may_host && !hosts_ && !choice_.ports.empty()) co_return co_await look_in_row(on_retry);
  if (may_host) co_return co_await connect_to_store(stage_, std::move(endpoint), give_up_, on_retry);
  co_return co_await try_to_connect(stage_, std::move(endpoint), give_up_, on_retry);
}

Talk<Result<StoreLink>> ElasticStore::look_in_row(std::function<void(const Error&)> on_retry) {
  RowSearch search{config_.run_id, give_up_, std::move(on_retry)};
  co_return co_await find_in_row(stage_, store_, choice_.ports, std::move(search));
}

Talk<bool> ElasticStore::connect() {
  Endpoint endpoint = choice_.store;
  if (hosts_) endpoint = {"127.0.0.1", port_};
  auto connected = co_await look_for_store(endpoint, true);
  if (!connected) {
    Error error = connected.error();
    error.message = fmt::format("the rendezvous timed out after {}: its store is missing: {}",
                                to_text(choice_.settings.join_timeout), error.message);
    owner_.on_no_store(std::move(error));
    co_return false;
  }
  take(*std::move(connected));
  co_await claim();
  reached_ = link_->peer();
  address_ = choice_.address;
  if (address_.empty()) address_ = hosts_ ? choice_.store.host : address_to_others();
  if (address_ == "localhost") address_ = "127.0.0.1";  // which needs no resolver
  co_return true;
}

// Not every connection tells. An etcd that is on this machine, or behind a tunnel, does not.
std::string ElasticStore::address_to_others() const {
  std::string own = link_->own_address();
  const bool tells = !own.empty() && (choice_.store.kind == StoreKind::tcp || !is_loopback(own));
  return tells ? own : config_.hostname;
}

Talk<Status> ElasticStore::choose_machine() {
  const Time deadline = later(stage_.moment(), choice_.settings.join_timeout);
  auto looked = co_await link_->check(KeyList(1, std::string(host_key)), deadline);
  if (!looked) co_return looked.error();
  by_launch_ = looked->at(0);
  if (by_launch_ && !hosts_) co_await line_.open_door(self(), address_);
  ElasticSettings settings = with_self(config_, choice_, stage_.report_interval());
  settings.self = self();
  if (by_launch_) {
    auto hosted = std::make_unique<HostedRendezvous>(std::move(settings), line_.seat(hosts_));
    hosted_ = hosted.get();
    machine_ = std::move(hosted);
    if (heartbeat_.interval > Duration::zero()) link_->set_beats(heartbeat_.interval, heartbeat_.patience);
  } else {
    machine_ = std::make_unique<ElasticRendezvous>(std::move(settings), Random(stage_.random().next()));
  }
  if (!admits_) machine_->admit_nobody();
  if (wants_in_ && !leaving_ && !ending_) machine_->join(stage_.moment(), restarts_);
  co_return Status();
}

// As long as no round has formed here, the loss of a store is no failure: it may have been that of a job that has
// ended.
Talk<void> ElasticStore::run() {
  give_up_ = later(stage_.moment(), choice_.settings.join_timeout);
  if (!choice_.is_host) co_await find_out_who_hosts();
  bool connected = co_await connect();
  while (connected) {
    const Error lost = co_await pursue();
    const bool goes_on = !ending_ && !leaving_;
    const bool closed = lost.code == ErrorCode::closed && goes_on;
    const bool silent = lost.code == ErrorCode::silent && goes_on;
    const bool waits = std::exchange(wants_in_, !formed_);
    hosted_ = nullptr;
    machine_.reset();
    Way way = Way::as_ever;
    if (elder_) way = co_await give_way(waits);
    if (may_have_ended(lost)) way = co_await find_out(waits);
    if (way == Way::followed) continue;
    bool back = false;
    if (way == Way::as_ever && formed_ && !ending_) owner_.on_doubt(silent && by_launch_);
    if (way == Way::as_ever && (closed || silent) && formed_ && by_launch_) back = co_await come_back(silent);
    if (back) continue;
    if (!closed || formed_ || way == Way::in_vain) {
      lost_ = true;
      ended_.ring();
      if (!ending_ && (way == Way::as_ever || !leaving_)) owner_.on_lost(lost);
      co_return;
    }
    connected = co_await look_again(lost);
  }
}

// If the store closed the connection quickly, waits first: it may close every one, as it does not understand this node.
Talk<bool> ElasticStore::look_again(Error lost) {
  owner_.on_other_store();
  line_.forget();
  link_.reset();
  reached_.reset();
  stage_.say(Say::Level::info, fmt::format("the store at {} was lost before a round formed; looking for it again",
                                           to_text(choice_.store)));
  const Time earliest = later(connected_, second_look);
  if (stage_.moment() >= earliest) {
    give_up_ = later(stage_.moment(), choice_.settings.join_timeout);
  } else {
    auto pause = stage_.until(earliest);
    co_await pause;
  }
  if (stage_.moment() < give_up_) co_return co_await connect();
  if (!ending_) owner_.on_no_store(std::move(lost));
  co_return false;
}

// The store may have closed the link because it heard nothing of this node for long; or the store itself stalled.
Talk<bool> ElasticStore::come_back(bool was_silent) {
  // The agent must know before the time of its workers is over.
  const Duration look = heartbeat_.grace > Duration::zero() ? std::min(second_look, heartbeat_.grace / 2) : second_look;
  give_up_ = later(stage_.moment(), was_silent ? config_.heartbeat_timeout : look);
  auto link = co_await look_for_store(*reached_, false);
  if (!link || ending_ || leaving_) co_return false;
  const bool same = co_await line_.is_same(*link, give_up_);
  if (!same || ending_ || leaving_) co_return false;
  if (!hosts_) line_.forget();  // the others of its line are at the store of this node
  last_link_.reset();
  last_link_.emplace(*std::move(link_));
  take(*std::move(link));
  owner_.on_expelled();
  co_return true;
}

bool ElasticStore::may_have_ended(const Error& lost) const {
  return lost.code == ErrorCode::closed && link_ && by_launch_ && line_.leads_on() && !hosts_ && owner_.goes_on();
}

// A failure of workers is not told meanwhile.
Talk<ElasticStore::Way> ElasticStore::find_out(bool waits) {
  finds_out_ = true;
  Way way = Way::as_ever;
  const Duration grace = heartbeat_.grace;
  const Duration look = grace > Duration::zero() ? std::min(for_witness, grace / 2) : for_witness;
  const bool ended = co_await line_.has_ended(*link_, later(stage_.moment(), look));
  if (ended) way = co_await follow(waits);
  finds_out_ = false;
  found_out_.ring();
  co_return way;
}

Talk<void> ElasticStore::found_out() {
  while (finds_out_) {
    auto found = found_out_.rung(never);
    co_await found;
  }
}

// Workers have some time to exit. A node that leaves does not look for the next host: its workers have that time, too.
Talk<ElasticStore::Way> ElasticStore::follow(bool waits) {
  if (ending_) co_return Way::as_ever;
  const Duration since_answer = stage_.moment() - link_->lived_at();
  const Duration grace = grace_after_host(config_.heartbeat_timeout, choice_.settings.nodes.max, since_answer);
  const Time seen = stage_.moment();
  if (!waits && grace > Duration::zero()) stage_.act(LimitGrace{grace});
  const Duration look = grace > Duration::zero() ? std::min(second_look, grace / 2) : second_look;
  const bool gone = co_await line_.is_gone(*reached_, later(stage_.moment(), look));
  if (!gone || ending_) co_return Way::as_ever;
  if (leaving_) co_return Way::in_vain;
  const bool goes_on = co_await owner_.still_goes_on();
  if (!goes_on || ending_) co_return Way::as_ever;
  wants_in_ = wants_in_ || waits;
  const Duration left = std::max(grace - (stage_.moment() - seen), Duration::zero());
  const Duration workers = grace > Duration::zero() ? left : Duration::max();
  owner_.on_host_gone(line_.last(), waits ? std::nullopt : std::optional(workers));
  link_.reset();
  co_return co_await look_for_next();
}

// A node that finds nobody gives up as soon as one that has lost a host which is only silent.
Talk<ElasticStore::Way> ElasticStore::look_for_next() {
  give_up_ = later(stage_.moment(), patience_with_host());
  auto next = co_await line_.find_next(self(), give_up_);
  if (!next || ending_ || leaving_) co_return Way::in_vain;
  if (next->here) {
    hosts_ = true;
    Endpoint door = next->heir.door.at;
    if (!is_loopback(door.host)) door.host = "127.0.0.1";
    auto own = co_await connect_quietly(stage_, std::move(door), give_up_);
    if (!own) co_return Way::in_vain;
    next->link.emplace(*std::move(own));
    const std::vector<std::uint16_t>& ports = choice_.ports;
    OldAddress old{choice_.store,     ports, config_.run_id, choice_.settings.nodes, common_settings(config_),
                   line_.here(self())};
    if (config_.run_id != nameless_job) scope_.start(watch_old_address(stage_, std::move(old)));
  }
  settle_at(*std::move(next));
  co_return Way::followed;
}

void ElasticStore::settle_at(StoreLine::Next next) {
  take(*std::move(next.link));
  reached_ = link_->peer();
  store_ = next.heir.door.at;
  line_.settle_at(next.heir, choice_.store);
}

// A node that hosts the younger job ends its store when all others have heard of that, and resets what is left: its
// process has not ended.
Talk<ElasticStore::Way> ElasticStore::give_way(bool waits) {
  const MovedJob job = *std::exchange(elder_, std::nullopt);
  if (ending_ || leaving_) co_return Way::in_vain;
  wants_in_ = wants_in_ || waits;
  stage_.say(Say::Level::info, fmt::format("the job {} lives elsewhere: {} hosts it now; this node joins it there",
                                           config_.run_id, job.host.addr));
  owner_.on_elder(job, waits);
  give_up_ = later(stage_.moment(), patience_with_host());
  auto link = co_await line_.reach(job.door, give_up_);
  if (!link || ending_ || leaving_) co_return Way::in_vain;
  link_.reset();
  if (hosts_) co_await abandon_store();
  line_.forget();
  take(*std::move(link));
  reached_ = link_->peer();
  store_ = job.door.at;
  if (choice_.address.empty()) address_ = address_to_others();
  co_return Way::followed;
}

Talk<void> ElasticStore::abandon_store() {
  auto leaving = stage_.ask<Clients>(AwaitNoClients{Clientele::agents, later(stage_.moment(), second_look)});
  (void)co_await leaving;
  hosts_ = could_host_ = false;
  line_.begin_anew();
  stage_.act(PrepareStore{heartbeat_.silence, line_.name(), {}, config_.run_id});
}

// Carries out the machine until it has ended, or the store is lost.
Talk<Error> ElasticStore::pursue() {
  const Status chosen = co_await choose_machine();
  if (!chosen) co_return chosen.error();
  Result<ElasticStep> step = machine_->start(stage_.instant());
  while (true) {
    for (ElasticNews& news : step->news) take(std::move(news));
    if (elder_) co_return Error{ErrorCode::conflict, "the job lives at another store, which cannot be reached"};
    auto outcome = co_await perform(std::move(step->next));
    if (!outcome) co_return outcome.error();
    step = machine_->on(*outcome, stage_.instant());
    if (!step) co_return step.error();
  }
}

// A store that does not answer at once, as it must where nothing waits for others, is silent: what it says later may be
// about a round that the others have given up.
Talk<Result<Outcome>> ElasticStore::perform(Operation next) {
  const bool at_once = by_launch_ && heartbeat_.interval > Duration::zero() && !waits(next);
  const Time by = at_once ? later(stage_.moment(), heartbeat_.patience) : never;
  auto outcome = co_await link_->perform(std::move(next), std::min(by, machine_->deadline()));
  if (!outcome && at_once && outcome.error().code == ErrorCode::timeout)
    co_return Error{ErrorCode::silent, outcome.error().message};
  co_return outcome;
}

// Until end() the store must still hear of this node: its workers may take their time.
void ElasticStore::take(ElasticNews news) {
  if (const auto* moved = std::get_if<RoundMoved>(&news)) elder_ = moved->job;
  line_.learn(news);
  if (by_launch_ && !hosts_) line_.watch_host(*reached_, self());
  const bool formed = std::holds_alternative<RoundFormed>(news);
  formed_ = formed_ || formed;
  wants_in_ = wants_in_ && !formed;
  if (!std::holds_alternative<RendezvousEnded>(news)) return owner_.on_news(std::move(news));
  done_ = true;
  ended_.ring();
}

}  // namespace launch

#include "launch/core/session/elastic_store.hpp"

#include "launch/core/base/announcer.hpp"
#include "launch/core/base/backoff.hpp"
#include "launch/core/c10d/elastic_rendezvous.hpp"
#include "launch/core/c10d/version_rendezvous.hpp"
#include "launch/core/job/endpoint_list.hpp"
#include "launch/core/session/dialogs.hpp"
#include "launch/core/session/port_row.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration second_look = 1s;           // time to see whether a store that closed the connection is still there
constexpr Duration look_at_listed = 1s;        // of a list: to look the name up, to connect and to ask; at first
constexpr Duration longest_listed_look = 10s;  // the same, if an answer takes longer
constexpr Duration for_other_agent = 5s;       // of this machine, to host the store at the port that it has taken
constexpr Duration usual_silence = 30s;        // of a machine that may live, where no time-out says how long

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
      place_{.store = choice.store},
      search_(stage, config, place_, owner),
      listed_(stage, config),
      ended_(stage),
      scope_(stage) {}

Talk<Status> ElasticStore::open() {
  stage_.act(PrepareStore{search_.heartbeat().silence, search_.line().name(), {}, config_.run_id});
  if (!choice_.is_host.value_or(false) || listed_.exist()) co_return Status();
  const Listening opened = co_await listen_in_row(stage_, place_.store, choice_.ports);
  place_.hosts = opened.status.has_value();
  place_.port = opened.port;
  // The agent that had the port was killed, but its connections keep the port. This node tries again while it looks for
  // a store.
  place_.could_host = opened.cooling;
  if (!place_.could_host) co_return opened.status;
  say_wait_for_port(stage_, choice_.store.port);
  co_return Status();
}

// Not in open(), during which no signal is heard: a name server may not answer.
Talk<void> ElasticStore::find_out_who_hosts() {
  Question locate = LocateHost{choice_.store.host, config_.hostname, place_.give_up};
  auto locating = stage_.ask<Whereabouts>(std::move(locate));
  const Whereabouts found = co_await locating;
  if (found.here && found.elsewhere)
    stage_.say(Say::Level::warning, fmt::format("the name {} stands for this machine and for others, and each of them "
                                                "would host the store; name one of them in --rdzv-endpoint",
                                                choice_.store.host));
  place_.could_host = found.here;
  co_await try_to_host();
}

// Another agent of this machine may have been first, and may be gone later: then this one takes its place.
Talk<void> ElasticStore::try_to_host() {
  if (!place_.could_host || place_.hosts) co_return;
  Question listen = Listen{OwnStore::job, choice_.store, false, true};
  auto listening = stage_.ask<Listening>(std::move(listen));
  const Listening opened = co_await listening;
  place_.hosts = opened.status.has_value();
  place_.port = opened.port;
}

// torchrun's agents look only at the heartbeats in the state.
Duration ElasticStore::longest_stall(bool with_launch_agents) const {
  if (search_.heartbeat().patience == Duration::zero()) return Duration::zero();
  const ElasticSettings& settings = choice_.settings;
  return place_.by_launch && with_launch_agents ? search_.longest_stall()
                                                : settings.keep_alive_interval * (settings.keep_alive_max_attempt - 1);
}

// ---- wishes

void ElasticStore::join(bool admits, int restarts) {
  restarts_ = restarts;
  place_.wants.in = true;
  search_.forget_last_link();
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
  place_.wants.ending = true;
  while (place_.link && !done_ && !lost_ && stage_.moment() < deadline) {
    auto ended = ended_.rung(deadline);
    co_await ended;
  }
  scope_.give_up();
  search_.end();
}

// ---- the link

Talk<Result<StoreLink>> ElasticStore::look_for_store(Endpoint endpoint) {
  Announcer announcer(stage_.moment());
  const std::function<void(const Error&)> on_retry = [&](const Error& reason) {
    scope_.start(try_to_host());
    search_.announce(announcer, reason);
  };
  if (!place_.hosts && listed_.exist()) co_return co_await look_in_list();
  if (!place_.hosts && !choice_.ports.empty()) co_return co_await look_in_row(on_retry);
  co_return co_await connect_to_store(stage_, std::move(endpoint), place_.give_up, on_retry);
}

Talk<Result<StoreLink>> ElasticStore::look_in_row(std::function<void(const Error&)> on_retry) {
  RowSearch search{config_.run_id, place_.give_up, std::move(on_retry)};
  co_return co_await find_in_row(stage_, place_.store, choice_.ports, std::move(search));
}

// Until the job is found at one of the places of --rdzv-endpoint, or founded at the first by this node.
Talk<Result<StoreLink>> ElasticStore::look_in_list() {
  Announcer announcer(stage_.moment());
  Backoff backoff(50ms, 1s, stage_.random());
  taken_since_.reset();
  Duration look = look_at_listed;
  const Duration silence = config_.heartbeat_timeout > Duration::zero() ? config_.heartbeat_timeout : usual_silence;
  const Time founds_at = later(stage_.moment(), silence);  // what only stands still has answered by then
  while (true) {
    const bool waited = stage_.moment() >= founds_at;
    const Time until = later(stage_.moment(), look);
    auto found = co_await listed_.ask(std::min(place_.give_up, until), waited);
    if (stage_.moment() >= until) look = std::min(2 * look, longest_listed_look);
    if (found) {
      place_.store = found->at;
      const bool elsewhere = found->at != choice_.store;
      if (elsewhere)
        stage_.say(Say::Level::info,
                   fmt::format("the job {} lives at {}; this node joins it there", config_.run_id, to_text(found->at)));
      co_return std::move(found->link);
    }
    const bool in_time = stage_.moment() < place_.give_up;  // else some had less time than they need
    if (in_time && listed_.may_found(waited)) {
      const Status founded = co_await try_to_found();
      if (!founded) co_return founded.error();
      Endpoint own{"127.0.0.1", place_.port};
      if (place_.hosts) co_return co_await connect_quietly(stage_, std::move(own), place_.give_up);
    }
    const Time next = later(stage_.moment(), backoff.next());
    if (next >= place_.give_up) co_return Error{ErrorCode::timeout, listed_.findings()};
    if (announcer.due(stage_.moment(), stage_.report_interval())) announce_list(founds_at);
    auto pause = stage_.until(next);
    co_await pause;
  }
}

// Others must be able to rely on the port. Another agent of this machine may have it, which is found there then. This
// node's own door may have it, too, if it was in a job that is gone.
Talk<Status> ElasticStore::try_to_found() {
  if (search_.line().door_port() != 0) search_.begin_anew();
  Question listen = Listen{OwnStore::job, choice_.store, false, false};
  auto listening = stage_.ask<Listening>(std::move(listen));
  const Listening opened = co_await listening;
  place_.hosts = opened.status.has_value();
  place_.port = opened.port;
  place_.store = choice_.store;
  if (place_.hosts) co_return Status();
  if (!taken_since_ && opened.cooling) say_wait_for_port(stage_, choice_.store.port);
  if (!taken_since_) taken_since_ = stage_.moment();
  const bool waits = opened.cooling || stage_.moment() < later(*taken_since_, for_other_agent);
  co_return waits ? Status() : opened.status;
}

void ElasticStore::announce_list(Time founds_at) {
  std::string until = fmt::format("giving up in {}", to_text(place_.give_up - stage_.moment()));
  if (listed_.may_found(true) && stage_.moment() < founds_at && founds_at < place_.give_up)
    until = fmt::format("this node founds it in {}", to_text(founds_at - stage_.moment()));
  stage_.say(Say::Level::progress, fmt::format("{}; looking for the job {} at {}; {}", listed_.findings(),
                                               config_.run_id, to_text(choice_.places), until));
}

// Others that look for the job may ask this node.
void ElasticStore::point() {
  if (!listed_.exist() || !place_.by_launch || place_.hosts) return;
  stage_.act(PointTo{state_key(config_.run_id), search_.line().there(place_.store)});
}

Talk<bool> ElasticStore::connect() {
  Endpoint endpoint = choice_.store;
  if (place_.hosts) endpoint = {"127.0.0.1", place_.port};
  auto connected = co_await look_for_store(endpoint);
  if (!connected) {
    Error error = connected.error();
    const bool in_vain = error.code != ErrorCode::system;  // else it cannot found the job
    if (in_vain)
      error.message = fmt::format("the rendezvous timed out after {}: its store is missing: {}",
                                  to_text(choice_.settings.join_timeout), error.message);
    owner_.on_no_store(std::move(error));
    co_return false;
  }
  search_.take(*std::move(connected));
  co_await claim();
  place_.reached = place_.link->peer();
  place_.address = choice_.address;
  if (place_.address.empty()) place_.address = place_.hosts ? choice_.store.host : search_.address_to_others();
  if (place_.address == "localhost") place_.address = "127.0.0.1";  // which needs no resolver
  co_return true;
}

Talk<Status> ElasticStore::choose_machine() {
  const Time deadline = later(stage_.moment(), choice_.settings.join_timeout);
  auto looked = co_await place_.link->check(KeyList(1, std::string(host_key)), deadline);
  if (!looked) co_return looked.error();
  place_.by_launch = looked->at(0);
  point();  // before anybody can ask
  if (place_.by_launch && !place_.hosts) co_await search_.line().open_door(search_.self(), place_.address, place_.own);
  ElasticSettings settings = with_self(config_, choice_, stage_.report_interval());
  settings.self = search_.self();
  if (place_.by_launch) {
    auto hosted = std::make_unique<HostedRendezvous>(std::move(settings), search_.line().seat(place_.hosts));
    hosted_ = hosted.get();
    machine_ = std::move(hosted);
    if (search_.heartbeat().interval > Duration::zero())
      place_.link->set_beats(search_.heartbeat().interval, search_.heartbeat().patience);
  } else if (!choice_.store.folder.empty()) {
    std::string root = versions_root(choice_.store.folder, config_.run_id);
    machine_ =
        std::make_unique<VersionRendezvous>(std::move(settings), std::move(root), Random(stage_.random().next()));
  } else {
    machine_ = std::make_unique<ElasticRendezvous>(std::move(settings), Random(stage_.random().next()));
  }
  if (!admits_) machine_->admit_nobody();
  if (place_.wants.in && !place_.wants.leaving && !place_.wants.ending) machine_->join(stage_.moment(), restarts_);
  co_return Status();
}

// As long as no round has formed here, the loss of a store is no failure: it may have been that of a job that has
// ended.
Talk<void> ElasticStore::run() {
  place_.give_up = later(stage_.moment(), choice_.settings.join_timeout);
  if (listed_.exist()) {
    co_await listed_.locate(place_.give_up);
    place_.own = listed_.own();
  } else if (!choice_.is_host) {
    co_await find_out_who_hosts();
  }
  bool connected = co_await connect();
  while (connected && !place_.wants.leaving) {
    const Error lost = co_await pursue();
    const bool waits = std::exchange(place_.wants.in, !place_.wants.formed);
    hosted_ = nullptr;
    machine_.reset();
    const bool gone = (lost.code == ErrorCode::closed || lost.code == ErrorCode::silent) && !place_.wants.parts();
    const HostSearch::Way way = co_await search_.go_on(lost, waits);
    if (way == HostSearch::Way::followed) continue;
    if (!gone || place_.wants.formed || way == HostSearch::Way::in_vain) {
      lost_ = true;
      ended_.ring();
      if (!place_.wants.ending && (way == HostSearch::Way::as_ever || !place_.wants.leaving)) owner_.on_lost(lost);
      co_return;
    }
    connected = co_await look_again(lost);
  }
}

// If the store closed the connection quickly, waits first: it may close every one, as it does not understand this node.
Talk<bool> ElasticStore::look_again(Error lost) {
  owner_.on_other_store();
  search_.line().forget();
  if (listed_.exist()) stage_.act(PointTo{state_key(config_.run_id), std::nullopt});  // others look for it, too
  place_.link.reset();
  place_.reached.reset();
  stage_.say(Say::Level::info, fmt::format("the store at {} was lost before a round formed; looking for it again",
                                           to_text(listed_.exist() ? place_.store : choice_.store)));
  const Time earliest = later(place_.connected, second_look);
  if (stage_.moment() >= earliest) {
    place_.give_up = later(stage_.moment(), choice_.settings.join_timeout);
  } else {
    auto pause = stage_.until(earliest);
    co_await pause;
  }
  if (stage_.moment() < place_.give_up) co_return co_await connect();
  if (!place_.wants.ending) owner_.on_no_store(std::move(lost));
  co_return false;
}

// Carries out the machine until it has ended, or the store is lost.
Talk<Error> ElasticStore::pursue() {
  const Status chosen = co_await choose_machine();
  if (!chosen) co_return chosen.error();
  Result<ElasticStep> step = machine_->start(stage_.instant());
  while (true) {
    for (ElasticNews& news : step->news) take(std::move(news));
    if (search_.leaves()) co_return *search_.leaves();
    auto outcome = co_await perform(std::move(step->next));
    if (!outcome) co_return outcome.error();
    step = machine_->on(*outcome, stage_.instant());
    if (!step) co_return step.error();
  }
}

// A store that does not answer at once, as it must where nothing waits for others, is silent: what it says later may be
// about a round that the others have given up.
Talk<Result<Outcome>> ElasticStore::perform(Operation next) {
  const bool at_once = place_.by_launch && search_.heartbeat().interval > Duration::zero() && !waits(next);
  const Time by = at_once ? later(stage_.moment(), search_.heartbeat().patience) : never;
  auto outcome = co_await place_.link->perform(std::move(next), std::min(by, machine_->deadline()));
  if (!outcome && at_once && outcome.error().code == ErrorCode::timeout)
    co_return Error{ErrorCode::silent, outcome.error().message};
  co_return outcome;
}

// Until end() the store must still hear of this node: its workers may take their time.
void ElasticStore::take(ElasticNews news) {
  if (search_.hear(news)) return;
  const bool formed = std::holds_alternative<RoundFormed>(news);
  place_.wants.formed = place_.wants.formed || formed;
  place_.wants.in = place_.wants.in && !formed;
  if (formed || std::holds_alternative<RoundWaits>(news)) point();
  if (!std::holds_alternative<RendezvousEnded>(news)) return owner_.on_news(std::move(news));
  done_ = true;
  ended_.ring();
}

}  // namespace launch

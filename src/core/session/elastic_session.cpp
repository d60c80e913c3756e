#include "launch/core/session/elastic_session.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr Duration next_try = std::chrono::milliseconds(500);
constexpr Duration end_of_all = std::chrono::milliseconds(200);  // how long it takes once all are in the barrier

}  // namespace

ElasticSession::ElasticSession(const Config& config, const C10dChoice& choice, const SessionFacts& facts)
    : Session(config, facts),
      choice_(choice),
      meeting_(stage_, config, choice.settings),
      store_(stage_, config, choice, *this),
      excuse_(stage_),
      round_(stage_),
      late_(stage_) {}

void ElasticSession::join(const JoinRound& event) {
  give_up_round();
  watch_.reset();
  in_barrier_ = closed_ = untold_ = told_ = host_gone_ = false;  // that this node joins tells the others
  pledged_.reset();
  heard_.reset();
  gone_ = NodeRank::none();
  stage_.act(ForgetRound{});
  store_.join(event.admits, event.restarts);
}

// If the round broke up before it began, torchrun's agents in it notice that only when they know where its workers
// would meet, and which ranks they would have.
void ElasticSession::give_up_round() {
  asks_.stop();
  round_.give_up();
  const auto begun = std::exchange(beginning_, std::nullopt);
  if (begun && !begun->torchrun.empty() && !left_) late_.start(tell_late(*begun));
}

// ---- what the store tells

void ElasticSession::on_news(ElasticNews news) {
  std::visit([this](auto& one) { take(std::move(one)); }, news);
}

void ElasticSession::on_host_gone(const LastRound& last, std::optional<Duration> workers, bool ended) {
  if (watch_) watch_->forget_store();
  if (!workers) return;
  if (ended) gone_ = last.host;
  host_gone_ = true;
  if (std::exchange(doubted_, false)) return excuse_.excuse();  // then the workers restart already
  std::string reason = to_text(last.host_node) + ", which hosted the rendezvous, ";
  reason += ended ? "left without a report" : "cannot be reached";
  MembersChanged changed{std::move(reason), *workers, true, !told_};
  stage_.act(Tell{std::move(changed), excuse_.waits()});  // an excuse comes before the news that no worker is left
  excuse_.excuse();
}

// The host may have ended because all nodes have.
Talk<bool> ElasticSession::still_goes_on() {
  if (watch_ && in_barrier_) co_await watch_->read_out(later(stage_.moment(), quick_answer));
  co_return goes_on();
}

// The workers must end first. If the job has ended because this node was silent, its will says so in the abort key.
void ElasticSession::on_expelled() {
  if (std::exchange(doubted_, false)) return;  // then the workers restart already
  if (!goes_on_without_a_node(config_)) return round_.start(explain_expulsion());
  if (watch_) watch_->expect_another_round();
  stage_.tell(MembersChanged{"the other nodes believed that this one was dead: it had not answered for long", grace()});
}

Talk<void> ElasticSession::explain_expulsion() {
  std::optional<Failure> failure;
  if (watch_) failure = co_await read_abort(stage_, *store_.reached(), watch_->place().prefix);
  if (failure) co_return stage_.tell(PeerFailed{*failure});
  stage_.tell(StoreLost{"it has closed the connection"});
}

void ElasticSession::take(RoundFormed formed) {
  torchrun_ = formed.torchrun;
  if (!std::exchange(compared_, true))
    for (std::string& difference : find_differences(common_settings(config_), formed.common))
      stage_.say(Say::Level::warning, std::move(difference));
  round_.start(form_round(std::move(formed)));
}

void ElasticSession::take(RoundRefused refused) {
  using enum ErrorCode;
  closed_ = watch_ && store_.can_move() && refused.error.code == closed;
  if (closed_) return round_.start(explain_end());
  stranger_ = refused.error.code == conflict || (refused.error.code == timeout && refused.begun);
  if (refused.error.code == closed) return round_.start(explain_closed(std::move(refused)));
  if (refused.error.code == timeout && store_.is_moving()) return on_lost(std::move(refused.error));
  stage_.tell(RendezvousFailed{std::move(refused.error)});
}

Talk<void> ElasticSession::announce(RoundWaits waits) {
  const NodeLimits& limits = choice_.settings.nodes;
  if (waits.spare) co_return stage_.say(Say::Level::progress, "standing by: the job has as many nodes as it takes");
  if (waits.arrived < waits.awaited) co_return stage_.say(Say::Level::progress, wait_for_others(waits));
  const Endpoint store = store_.reached().value_or(choice_.store);
  const std::string others = co_await other_jobs(stage_, store, config_.run_id, waits.arrived);
  if (watch_) co_return;
  const bool enough = waits.arrived >= limits.min;
  const std::string until = enough ? fmt::format("starting in {} at most", to_text(choice_.settings.last_call_timeout))
                                   : fmt::format("giving up in {}", to_text(waits.left));
  stage_.say(Say::Level::progress,
             fmt::format("{}waiting for more nodes ({} of {} have joined); {}", others, waits.arrived,
                         limits.min == limits.max ? fmt::to_string(limits.max)
                                                  : fmt::format("{} to {}", limits.min, limits.max),
                         until));
}

// Closed means that the job has ended. Its launch agents have left the reason in the store.
Talk<void> ElasticSession::explain_closed(RoundRefused refused) {
  const auto failure = co_await read_abort(stage_, *store_.reached(), job_prefix(config_.run_id));
  if (failure) co_return stage_.tell(PeerFailed{*failure});
  if (refused.spare) co_return stage_.tell(NotNeeded{});
  refused.error.message = fmt::format(
      "the rendezvous {} is closed: its job has ended; give a new job another --rdzv-id", shown(config_.run_id));
  stage_.tell(RendezvousFailed{std::move(refused.error)});
}

// If a launch agent restarts, PeerFailed tells why. It also tells of the loss of a node that ends the job. That must be
// heard first.
Talk<void> ElasticSession::explain_break(RoundBroken broken) {
  const bool explained = co_await is_explained_elsewhere(broken);
  if (explained) co_return;
  if (broken.cause != RoundBroken::Cause::loss || goes_on_without_a_node(config_))
    co_return stage_.tell(MembersChanged{std::move(broken.reason)});
  Failure first = failure_of_lost_node({}, std::move(broken.reason));  // it had left no will
  if (watch_) first = co_await agree_on_first(stage_, *store_.reached(), watch_->place().prefix, std::move(first));
  stage_.tell(PeerFailed{std::move(first)});
}

// Whether a report of another node explains the break, or will; or the break means nothing, since all nodes have ended.
Talk<bool> ElasticSession::is_explained_elsewhere(RoundBroken broken) {
  using enum RoundBroken::Cause;
  const bool ends = broken.cause == loss && !goes_on_without_a_node(config_);
  const bool explained = broken.cause == restart || ends;
  const bool in_barrier = in_barrier_;
  if (watch_ && explained && !store_.is_by_launch()) {
    const auto failure = co_await read_abort(stage_, *store_.reached(), watch_->place().prefix);
    if (failure && failure->restart) co_return true;
  } else if (watch_ && (explained || in_barrier)) {
    auto pause = stage_.until(later(stage_.moment(), explained ? quick_answer : end_of_all));
    co_await pause;
  }
  if (!in_barrier) co_return false;
  co_return co_await have_all_ended(stage_, *store_.reached(), watch_->place().prefix);
}

// How long workers may run until the others go on without this node, however the store was lost: a pulled cable, an
// interface that went down and a firewall that resets connections each end a connection otherwise than by silence.
Duration ElasticSession::grace() const {
  if (!may_be_cut_off() || config_.heartbeat_timeout == Duration::zero()) return Duration::max();
  if (store_.is_by_launch()) return store_.grace();
  return std::max(store_.longest_stall(false) - config_.heartbeat_timeout, Duration::zero());
}

// ---- one round

Talk<void> ElasticSession::form_round(RoundFormed formed) {
  late_.give_up();
  beginning_ = formed;
  auto round = co_await begin_round(std::move(formed));
  beginning_.reset();
  if (!round) co_return co_await lose_beginning(round.error());
  pledged_ = *round;
  const Will will = last_will(watch_->place(), config_.hostname, goes_on_without_a_node(config_));
  if (!store_.pledge({will})) begin_pledged();
}

// If the host has ended, and another one follows, this talk is given up before it tells.
Talk<void> ElasticSession::lose_beginning(Error error) {
  if (error.code == ErrorCode::closed && store_.can_move()) {
    auto pause = stage_.until(later(stage_.moment(), quick_answer));
    co_await pause;
  }
  stage_.tell(RendezvousFailed{std::move(error)});
}

Talk<Result<Round>> ElasticSession::begin_round(RoundFormed formed) {
  const Time deadline = later(stage_.moment(), choice_.settings.join_timeout);
  auto connected = co_await connect_again(deadline);
  if (!connected) co_return connected.error();
  const bool beats = !store_.is_by_launch();  // if it is, the store's own link is this node's sign of life
  const Duration grace_of_workers = beats ? grace() : Duration::max();
  watch_.emplace(
      stage_, *std::move(connected),
      RoundWatch::Place{round_prefix(config_.run_id, formed.round), formed.rank, formed.nnodes,
                        config_.heartbeat_timeout, beats, grace_of_workers, store_.can_move() && !store_.hosts()});
  watch_->start_watching(deadline);
  auto master = co_await meeting_.agree(watch_->control(), formed, store_.address());
  if (!master) co_return master.error();
  Result<Round> round = Round();
  if (formed.assignment) {
    round->assignment = *formed.assignment;
  } else {
    round = co_await exchange_ranks(watch_->control(), formed);
  }
  if (!round) co_return round.error();
  RestartsSoFar so_far{config_.run_id, formed.round, restarts_};
  Status settled;
  if (serves_majority(config_) && !beats)
    settled = co_await await_settled(watch_->control(), config_.run_id, formed.round, deadline);
  if (!settled) co_return settled.error();
  const int counted = co_await count_restarts(watch_->control(), std::move(so_far));
  round->restarts = restarts_ = std::max(counted, formed.restarts);
  round->number = formed.round;
  round->master = *master;
  co_await count_nodes();
  round->may_leave = may_leave();
  if (formed.nnodes > 1) round->longest_stall = store_.longest_stall(launch_nodes().size() > 1);
  if (round->longest_stall > Duration::zero() && !beats) round->longest_silence = store_.longest_silence();
  co_return *std::move(round);
}

Talk<Result<Round>> ElasticSession::exchange_ranks(StoreLink& control, RoundFormed formed) {
  StaticJob job;
  job.run_id = round_prefix(config_.run_id, formed.round);
  job.nnodes = formed.nnodes;
  job.self = Member{formed.rank, config_.role, config_.nproc_per_node};
  job.identical_workers = config_.identical_workers;
  job.timeout = choice_.settings.join_timeout;
  job.found = true;
  StaticRendezvous machine(std::move(job));
  const std::function<void(const Waiting&)> say_nothing = [](const Waiting&) {};
  co_return co_await form(control, machine, say_nothing);
}

// ---- the end of a round, and of the job

Talk<void> ElasticSession::tell(Failure failure) {
  if (stranger_) co_return;
  if (failure.kind == Failure::Kind::signal && store_.reached()) co_await count_nodes();
  if (leaves_with(failure)) {
    left_ = true;  // even if it reaches the store only before its end
    late_.give_up();
    if (watch_) watch_->go_alone();
    // The node is gone when its workers are.
    if (store_.is_by_launch() || !store_.has_begun() || !watch_) store_.leave(failure.what);
    co_return;
  }
  if (!store_.reached()) co_return;
  if (may_be_excused(failure)) {
    if (!host_gone_) co_await excuse_.unless_excused(tell_first(failure));
    if (host_gone_) co_return;  // then that excuses it
  }
  told_ = true;
  ends_ = !failure.restart;
  co_await tell_all(std::move(failure));
}

// Until it is clear whether the host has heard of the failure, or has ended before.
Talk<void> ElasticSession::tell_first(Failure failure) {
  const Time deadline = later(stage_.moment(), quick_answer);
  bool ends = true;
  while (ends && stage_.moment() < deadline) {
    co_await store_.found_out();
    auto link = co_await connect_again(deadline);
    if (!link) break;
    auto first = co_await tell_abort(*link, watch_->place().prefix, failure, deadline);
    if (first) heard_ = *first;
    ends = !first && first.error().code == ErrorCode::closed;
    auto pause = stage_.until(later(stage_.moment(), next_try / 50));
    if (ends) co_await pause;
  }
  if (ends) co_await store_.found_out();
}

Talk<void> ElasticSession::tell_all(Failure failure) {
  const Time deadline = later(stage_.moment(), quick_answer);
  auto link = co_await connect_again(deadline);
  if (link) co_return co_await tell_by(*link, std::move(failure), deadline);
  pass_on(watch_ && !heard_ ? Result<Failure>(link.error()) : Result<Failure>(heard_.value_or(failure)));
  if (untold_) late_.start(keep_telling(std::move(failure)));
}

// The network is cut, or the host asleep: the others must hear of the failure as soon as that is over.
Talk<void> ElasticSession::keep_telling(Failure failure) {
  while (untold_) {
    auto pause = stage_.until(later(stage_.moment(), next_try));
    co_await pause;
    auto link = co_await connect_again(later(stage_.moment(), quick_answer));
    if (link && untold_) co_await tell_by(*link, failure, later(stage_.moment(), quick_answer));
  }
}

Talk<void> ElasticSession::tell_by(StoreLink& link, Failure failure, Time deadline) {
  Result<Failure> first = failure;
  if (watch_) first = co_await tell_abort(link, watch_->place().prefix, failure, deadline);
  if (first && first->restarts > 0)
    (void)co_await link.set(restarts_key(config_.run_id), std::to_string(first->restarts), deadline);
  // Nodes that are about to go on must hear of an end, too: they look here when they find the rendezvous closed.
  const bool final = first && (!failure.restart || !first->restart);
  if (final) {
    others_go_on_ = !watch_ || host_gone_ || first->restart;
    const Failure why = first->restart ? failure : *first;
    first = co_await tell_abort(link, job_prefix(config_.run_id), why, deadline);
    store_.close();
  }
  pass_on(first);
}

// A node that hosts a store waits for the others without limit, if it would hear of the loss of each of them.
void ElasticSession::enter_barrier() {
  in_barrier_ = true;
  const bool may_wait_in_vain = mixed() && hosts_a_store();
  Will then = last_will(watch_->place(), config_.hostname, false);
  then.words.clear();  // from now on the loss of this node harms nobody
  watch_->start_leaving(may_wait_in_vain ? std::optional(exit_barrier_timeout) : std::nullopt,
                        [this, then = std::move(then)] { store_.finish({then}); });
}

ExchangePlace ElasticSession::place_for_end(const Failure& first) const {
  std::vector<NodeRank> nodes = launch_nodes();
  if (first.kind == Failure::Kind::lost) std::erase(nodes, first.node_rank);
  std::erase(nodes, gone_);
  const RoundWatch::Place& here = watch_->place();
  const Duration patience = missing_ ? quick_answer : most_for_end(config_);
  return gathered_by_first(
      {here.prefix, here.node_rank, NodeRank::none(), std::move(nodes), later(stage_.moment(), patience)});
}

// A node that left while the others go on gathers nothing, and says so. Others that have not heard of the failure would
// let this node wait for them: if they cannot be told now, the end of this node tells them.
Talk<Account> ElasticSession::share(Account own, Failure first) {
  if (left_) co_await stay_out();
  if (left_ || !watch_ || watch_->lost()) co_return own;
  auto link = co_await connect_again(later(stage_.moment(), EndAccount::to_connect));
  if (!link) co_return own;
  if (untold_) co_await tell_by(*link, first, later(stage_.moment(), quick_answer));
  ExchangePlace place = place_for_end(first);
  if (untold_ || others_go_on_ || gathers_nothing_ || !place.gatherer.known()) co_return own;
  co_return co_await account_.share(*std::move(link), std::move(place), std::move(own));
}

Talk<void> ElasticSession::end(bool failed) {
  beginning_.reset();
  round_.give_up();
  late_.give_up();
  if (left_ && !failed) co_await stay_out();  // otherwise share() has done that
  const Time start = stage_.moment();
  if (stranger_) {
    co_await store_.end(start);
    co_return store_.part();
  }
  // A node that has lost the store has been taken for dead: the others may have gone on without it.
  const bool lost = watch_ && watch_->lost() && goes_on_without_a_node(config_);
  if (left_ ? !store_.is_by_launch() : lost || visits()) {
    store_.leave("");
  } else if (!left_) {
    store_.close();
  }
  co_await store_.end(later(start, quick_answer));
  if (store_.reached()) co_await see_others_off(failed, start);
}

Talk<void> ElasticSession::see_others_off(bool failed, Time start) {
  if (hosts_a_store() && failed && watch_ && !left_) {
    auto link = co_await connect_again(later(start, quick_answer));
    if (link) co_await await_informed(*link, watch_->place().prefix, launch_nodes(), later(start, quick_answer));
  }
  watch_.reset();
  if (store_.hosts() && left_) co_return co_await see_busy_ones_off(start);
  store_.part();
  if (!store_.hosts()) co_return;
  if (mixed()) co_return co_await see_talkers_off(stage_, start);  // torchrun's agents take longer
  // Other nodes may have been warned, and their workers may still save; or they hear of the end when they join again.
  const Duration most = std::max(most_for_workers_end(config_), silent_farewell * 10);
  const Duration patience = failed && !others_go_on_ ? silent_farewell : most;
  const AwaitNoClients agents{Clientele::agents, later(start, patience)};
  co_await see_off(stage_, agents, "the other nodes have left");
}

// The link of this node stays, so that no round forms here any more. The others need this host until their workers have
// ended: they may have been told to stop, too, or warned, and are about to say so.
Talk<void> ElasticSession::see_busy_ones_off(Time start) {
  const AwaitNoClients busy{Clientele::busy, later(start, most_for_workers_end(config_))};
  co_await see_off(stage_, busy, "the workers of the other nodes have ended");
}

}  // namespace launch

#include "launch/app/elastic_session.hpp"

#include "launch/app/conversations.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace asio = boost::asio;

namespace {

const std::function<void(const Waiting&)> say_nothing_of = [](const Waiting&) {};
const std::function<void()> no_fence = [] {};
constexpr Duration end_of_all = std::chrono::milliseconds(200);  // once all have come to the barrier

}  // namespace

ElasticSession::ElasticSession(asio::any_io_executor executor, const Config& config, StoreServer& server,
                               Mailbox& mailbox)
    : executor_(executor),
      config_(config),
      server_(server),
      meeting_(executor, config),
      mailbox_(mailbox),
      random_(random_seed()),
      state_(executor, config, server, listener()) {}

ElasticLine::Listener ElasticSession::listener() {
  return {[this](ElasticNews news) { take(std::move(news)); }, [this] { ++generation_; },
          [this](Error error) { mailbox_.put(RendezvousFailed{std::move(error)}); },
          [this](bool silent) { doubt(silent); },
          [this](Error error) { mailbox_.put(StoreLost{error.message, grace(), {}, state_.is_by_launch()}); },
          [this] { run_in_background(executor_, explain_expulsion(line_)); }};
}

// The others may be about to go on without this node, if they are there at all.
void ElasticSession::doubt(bool silent) {
  mailbox_.limit(grace());
  doubted_ = silent && line_ && line_ != barrier_ && may_leave();
  if (doubted_) mailbox_.put(MembersChanged{"the job's store has said nothing for long", grace()});
}

// What workers have until the others go on without this node, however the store was lost: a cable that was pulled, an
// interface that went down and a firewall that resets connections each end a connection in another way than silence.
Duration ElasticSession::grace() const {
  if (!may_leave() || config_.heartbeat_timeout == Duration::zero()) return Duration::max();
  const ElasticSettings& settings = config_.elastic->settings;
  if (state_.is_by_launch()) return plan_heartbeat(config_.heartbeat_timeout, settings.nodes.max).grace;
  return std::max(state_.longest_stall(false) - config_.heartbeat_timeout, Duration::zero());
}

Status ElasticSession::open() { return state_.open(); }

void ElasticSession::join(bool admits, int restarts) {
  ++generation_;
  if (line_) line_->close();
  line_.reset();
  pledged_.reset();
  gone_ = -1;
  mailbox_.forget_round();
  state_.join(admits, restarts);
}

void ElasticSession::stop_joining() {
  ++generation_;  // what is forming has nobody to tell
  if (line_) line_->control().close();
}

// ---- what the line tells

void ElasticSession::take(ElasticNews news) {
  if (auto* formed = std::get_if<RoundFormed>(&news)) {
    torchrun_ = formed->torchrun;
    run_in_background(executor_, form_round(std::move(*formed), generation_));
  } else if (auto* broken = std::get_if<RoundBroken>(&news)) {
    run_in_background(executor_, explain_break(std::move(*broken), line_, generation_));
  } else if (const auto* waits = std::get_if<RoundWaits>(&news)) {
    run_in_background(executor_, announce(*waits, generation_));
  } else if (auto* refused = std::get_if<RoundRefused>(&news)) {
    run_in_background(executor_, explain_refusal(std::move(*refused)));
  } else if (std::holds_alternative<WillLeft>(news)) {
    if (auto round = std::exchange(pledged_, std::nullopt)) mailbox_.put(RendezvousDone{std::move(*round)});
  }
}

asio::awaitable<void> ElasticSession::announce(RoundWaits waits, int generation) {
  const NodeLimits& limits = config_.elastic->settings.nodes;
  if (waits.spare) {
    log_progress("the job runs without this node, which stands by");
    co_return;
  }
  const std::string others =
      co_await other_jobs(state_.reached().value_or(config_.master), config_.run_id, waits.arrived, random_);
  if (line_ || ending_ || generation != generation_) co_return;
  const bool enough = waits.arrived >= limits.min;
  const std::string until =
      enough ? fmt::format("more may come for up to {}", to_text(config_.elastic->settings.last_call_timeout))
             : fmt::format("giving up in {}", to_text(waits.left));
  log_progress(fmt::format(
      "waiting for the other nodes: {} of {} are in; {}{}", waits.arrived,
      limits.min == limits.max ? fmt::to_string(limits.max) : fmt::format("{} to {}", limits.min, limits.max), until,
      others));
}

// Closed means that the job has ended; why, its launch agents have left in the store.
asio::awaitable<void> ElasticSession::explain_refusal(RoundRefused refused) {
  using enum ErrorCode;
  stranger_ = refused.error.code == conflict || (refused.error.code == timeout && refused.begun);
  if (refused.error.code == closed) {
    const auto failure = co_await read_abort(job_prefix(config_.run_id));
    if (failure) {
      mailbox_.put(PeerFailed{*failure});
      co_return;
    }
    if (refused.spare) {
      mailbox_.put(NotNeeded{});
      co_return;
    }
    refused.error.message = fmt::format(
        "the rendezvous {} is closed: this job has ended; a new one needs another --rdzv-id", shown(config_.run_id));
  }
  mailbox_.put(RendezvousFailed{std::move(refused.error)});
}

// Why a launch agent starts anew comes as PeerFailed, and so does the loss of a node where it ends the job: that is to
// be heard first.
asio::awaitable<void> ElasticSession::explain_break(RoundBroken broken, std::shared_ptr<RoundLine> line,
                                                    int generation) {
  using enum RoundBroken::Cause;
  if (generation == generation_) gone_ = broken.gone;
  const bool ends = broken.cause == loss && !goes_on_without_a_node(config_);
  const bool explained = broken.cause == restart || ends;
  const bool in_barrier = line && line == barrier_;
  if (line && explained && !state_.is_by_launch()) {
    const auto failure = co_await read_abort(line->place().prefix);
    if (failure && failure->restart) co_return;
  } else if (line && (explained || in_barrier)) {
    asio::steady_timer timer(executor_, to_steady(later(now(), explained ? quick_answer : end_of_all)));
    (void)co_await timer.async_wait(as_values);
  }
  bool all_done = ending_;
  if (in_barrier && !ending_) all_done = co_await have_all_ended(line->place().prefix);
  if (all_done || generation != generation_ || ending_) co_return;
  if (!ends) {
    mailbox_.put(MembersChanged{std::move(broken.reason)});
    co_return;
  }
  Failure failure;  // of a node that had left no will
  failure.kind = Failure::Kind::lost;
  failure.node_rank = -1;
  failure.what = std::move(broken.reason);
  mailbox_.put(PeerFailed{std::move(failure)});
}

// Who is lost, or comes, when all have come to the barrier changes nothing.
asio::awaitable<bool> ElasticSession::have_all_ended(std::string prefix) {
  const Time deadline = later(now(), quick_answer);
  auto client = co_await connect_again(deadline);
  if (!client) co_return false;
  Operation look = CheckKeys{KeyList(1, all_ended_key(prefix))};
  auto looked = co_await client->perform(std::move(look), deadline);
  if (!looked) co_return false;
  co_return std::get<Presence>(*looked).present.at(0);
}

// The workers are to end before anything else. Where the job has ended for this node's silence, its last word says so.
asio::awaitable<void> ElasticSession::explain_expulsion(std::shared_ptr<RoundLine> line) {
  if (std::exchange(doubted_, false)) co_return;  // and so has begun to start anew
  if (goes_on_without_a_node(config_)) {
    mailbox_.put(MembersChanged{"the other nodes took this one for dead: it had said nothing for long", grace()});
    co_return;
  }
  std::optional<Failure> failure;
  if (line) failure = co_await read_abort(line->place().prefix);
  if (ending_) co_return;
  if (failure) {
    mailbox_.put(PeerFailed{*failure});
  } else {
    mailbox_.put(StoreLost{"it has closed the connection"});
  }
}

asio::awaitable<Result<StoreClient>> ElasticSession::connect_again(Time deadline) {
  co_return co_await connect_quietly(*state_.reached(), deadline, random_);
}

asio::awaitable<std::optional<Failure>> ElasticSession::read_abort(std::string prefix) {
  const Time deadline = later(now(), quick_answer);
  auto client = co_await connect_again(deadline);
  if (!client) co_return std::nullopt;
  co_return co_await look_for_abort(*client, std::move(prefix), deadline);
}

// ---- one round

asio::awaitable<void> ElasticSession::form_round(RoundFormed formed, int generation) {
  if (late_) late_->close();
  forming_ = formed.round;
  co_await begin_round(formed, generation);
  if (generation == generation_ || formed.torchrun.empty() || ending_ || left_) co_return;
  // It has broken up at once. torchrun's agents in it see that only when they know where its workers would meet, and
  // which ranks they would have.
  auto client = co_await connect_again(later(now(), quick_answer));
  if (!client || ending_ || left_ || forming_ != formed.round) co_return;
  const auto late = late_ = std::make_shared<StoreClient>(std::move(*client));
  co_await meeting_.say_late(*late, formed, state_.address());
  (void)co_await exchange_ranks(*late, formed);
}

asio::awaitable<void> ElasticSession::begin_round(RoundFormed formed, int generation) {
  const Duration timeout = config_.elastic->settings.join_timeout;
  const Time deadline = later(now(), timeout);
  auto connected = co_await connect_again(deadline);
  if (generation != generation_ || ending_) co_return;
  if (!connected) {
    mailbox_.put(RendezvousFailed{connected.error()});
    co_return;
  }
  const bool beats = !state_.is_by_launch();  // where it is, the state's connection is this node's sign of life
  RoundLine::Place place{round_prefix(config_.run_id, formed.round),
                         formed.rank,
                         formed.nnodes,
                         std::string(host_key),
                         config_.heartbeat_timeout,
                         beats,
                         beats ? grace() : Duration::max()};
  const auto line = std::make_shared<RoundLine>(executor_, mailbox_, std::move(*connected), place);
  line_ = line;
  line->start_watching(deadline);
  auto master = co_await meeting_.agree(line->control(), formed, state_.address());
  if (line->closed() || generation != generation_) co_return;
  if (!master) {
    mailbox_.put(RendezvousFailed{master.error()});
    co_return;
  }
  Result<Round> round = Round();
  if (formed.assignment) {
    round->assignment = *formed.assignment;
  } else {
    round = co_await exchange_ranks(line->control(), formed);
  }
  if (line->closed() || generation != generation_) co_return;
  if (!round) {
    mailbox_.put(RendezvousFailed{round.error()});
    co_return;
  }
  restarts_ = std::max(co_await count_restarts(line, formed.round), formed.restarts);
  if (line->closed() || generation != generation_) co_return;
  round->restarts = restarts_;
  round->master = *master;
  pledged_ = *round;
  const bool pledged = state_.pledge({last_will(line->place(), config_.hostname, goes_on_without_a_node(config_))});
  if (!pledged) mailbox_.put(RendezvousDone{*std::exchange(pledged_, std::nullopt)});
}

asio::awaitable<Result<Round>> ElasticSession::exchange_ranks(StoreClient& control, RoundFormed formed) {
  StaticJob job;
  job.run_id = round_prefix(config_.run_id, formed.round);
  job.nnodes = formed.nnodes;
  job.self = Member{formed.rank, config_.role, config_.nproc_per_node};
  job.identical_workers = config_.identical_workers;
  job.timeout = config_.elastic->settings.join_timeout;
  job.found = true;
  StaticRendezvous machine(std::move(job));
  co_return co_await form(control, machine, say_nothing_of, no_fence);
}

// The failure that led to this round has the count, too: who wrote that may not have come to write the key.
asio::awaitable<int> ElasticSession::count_restarts(std::shared_ptr<RoundLine> line, std::int64_t round) {
  const Time deadline = later(now(), quick_answer);
  Operation get = GetKeys{{restarts_key(config_.run_id), abort_key(round_prefix(config_.run_id, round - 1))}};
  auto got = co_await line->control().perform(std::move(get), deadline);
  if (!got) co_return restarts_;
  const auto& values = std::get<Values>(*got).values;
  const int written = parse_int(values.at(0)).value_or(0);
  const auto failure = parse_failure(values.at(1));
  if (!failure || failure->restarts <= written) co_return written;
  // For the rounds after this one.
  Operation count = SetKeys{{{restarts_key(config_.run_id), std::to_string(failure->restarts)}}};
  (void)co_await line->control().perform(std::move(count), deadline);
  co_return failure->restarts;
}

// ---- the end of a round, and of the job

// Not without the store.
bool ElasticSession::may_leave() const { return goes_on_without_a_node(config_) && !state_.hosts(); }

asio::awaitable<void> ElasticSession::tell(Failure failure) {
  if (!state_.reached() || stranger_) co_return;
  if (failure.kind == Failure::Kind::signal && may_leave()) {
    left_ = true;
    if (state_.is_by_launch()) state_.leave(failure.what);  // and is gone when its workers are
    co_return;
  }
  const Time deadline = later(now(), quick_answer);
  Result<Failure> first = failure;
  const auto line = line_;
  auto client = co_await connect_again(deadline);
  if (!client && line) first = client.error();
  if (client && line) first = co_await tell_abort(*client, line->place().prefix, failure, deadline);
  if (client && first && first->restarts > 0) {
    Operation count = SetKeys{{{restarts_key(config_.run_id), std::to_string(first->restarts)}}};
    (void)co_await client->perform(std::move(count), deadline);
  }
  // An end is told to those who are about to go on, too: when they find the rendezvous closed.
  const bool final = !failure.restart || (first && !first->restart);
  if (client && first && final) {
    const Failure why = first->restart ? failure : *first;
    first = co_await tell_abort(*client, job_prefix(config_.run_id), why, deadline);
    state_.close();
  }
  pass_on(mailbox_, first);
}

// Who hosts a store waits for the others as long as it takes, where it would hear of a node that goes away.
void ElasticSession::enter_barrier() {
  barrier_ = line_;
  const bool may_wait_in_vain = mixed() && hosts_a_store();
  Will then = last_will(line_->place(), config_.hostname, false);
  then.words.clear();  // this node is free to go away
  line_->start_leaving(may_wait_in_vain ? std::optional(exit_barrier_timeout) : std::nullopt,
                       [this, then = std::move(then)] { state_.finish({then}); });
}

std::vector<int> ElasticSession::launch_nodes() const {
  std::vector<int> nodes;
  for (int rank = 0; rank < line_->place().nnodes; ++rank)
    if (!std::binary_search(torchrun_.begin(), torchrun_.end(), rank)) nodes.push_back(rank);
  return nodes;
}

// The first of the launch nodes gathers. Who has left the others to themselves does not, and says so.
asio::awaitable<Account> ElasticSession::share(Account own, Failure first) {
  if (!line_ || line_->lost()) co_return own;
  auto client = co_await connect_again(later(now(), EndExchange::to_connect));
  if (!client) co_return own;
  std::vector<int> nodes = launch_nodes();
  if (first.kind == Failure::Kind::lost) std::erase(nodes, first.node_rank);
  if (!left_) std::erase(nodes, gone_);
  if (nodes.empty()) co_return own;
  ExchangePlace place{line_->place().prefix, line_->place().node_rank, nodes.front(), {}, most_for_end(config_)};
  if (left_) {
    co_await exchange_.stay_out(std::move(*client), std::move(place));
    co_return own;
  }
  if (place.gatherer == place.node_rank) {
    nodes.erase(nodes.begin());
    place.others = std::move(nodes);
  }
  co_return co_await exchange_.share(std::move(*client), std::move(place), std::move(own));
}

asio::awaitable<void> ElasticSession::end(bool failed) {
  ending_ = true;
  if (late_) late_->close();
  const Time start = now();
  if (stranger_) {
    co_await state_.end(start);
    co_return state_.part();
  }
  // Who has lost the store has been taken for dead: the others may have gone on without it.
  const bool lost = line_ && line_->lost() && goes_on_without_a_node(config_);
  if (left_ ? !state_.is_by_launch() : lost) {
    state_.leave("");
  } else if (!left_) {
    state_.close();
  }
  co_await state_.end(later(start, quick_answer));
  if (!state_.reached()) co_return;
  if (hosts_a_store() && failed && line_ && !left_) {
    if (auto client = co_await connect_again(later(start, quick_answer)))
      co_await await_informed(*client, line_->place().prefix, launch_nodes(), later(start, quick_answer));
  }
  if (line_) line_->close();
  state_.part();
  if (!state_.hosts()) co_return;
  if (mixed()) co_return co_await see_talkers_off(server_, start);  // torchrun's agents take their time
  // Others may have been warned, and still save.
  const Duration patience = std::max(config_.shutdown_timeout + config_.kill_grace, silent_farewell * 10);
  co_await server_.until_no_agent(later(start, failed ? silent_farewell : patience));
}

void ElasticSession::hurry() {
  exchange_.hurry();
  server_.stop_waiting();
}

}  // namespace launch

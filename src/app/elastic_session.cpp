#include "launch/app/elastic_session.hpp"

#include "launch/app/announcer.hpp"
#include "launch/app/conversations.hpp"
#include "launch/core/text.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/host.hpp"
#include "launch/io/local_address.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace asio = boost::asio;

namespace {

const std::function<void(const Waiting&)> say_nothing_of = [](const Waiting&) {};
const std::function<void()> no_fence = [] {};

ElasticSettings with_self(const Config& config) {
  ElasticSettings settings = config.elastic->settings;
  settings.run_id = config.run_id;
  const std::string& address = config.elastic->address;
  settings.report_interval = progress_interval();
  settings.self = NodeDesc{address.empty() ? config.hostname : address, ::getpid(), launch_local_id};
  return settings;
}

}  // namespace

ElasticSession::ElasticSession(asio::any_io_executor executor, const Config& config, StoreServer& server,
                               Mailbox& mailbox)
    : executor_(executor),
      config_(config),
      server_(server),
      meeting_(executor, config),
      mailbox_(mailbox),
      random_(random_seed()),
      machine_(with_self(config), Random(random_.next())),
      end_timer_(executor) {}

asio::awaitable<Status> ElasticSession::open() {
  const auto& chosen = config_.elastic->is_host;
  hosts_ = chosen.value_or(false);
  if (!chosen) {
    const Whereabouts found = co_await find_host(config_.master.host, config_.hostname);
    hosts_ = found.here;
    if (found.here && found.elsewhere)
      log_warning(
          fmt::format("the name {} leads to this machine and to others, and each of them takes itself for the "
                      "host of the store; name one of them in --rdzv-endpoint",
                      config_.master.host));
  }
  if (!hosts_) co_return Status();
  server_.preset(std::string(push_key), "1");
  server_.set_silence_limit(config_.heartbeat_timeout);
  const Status opened = server_.listen(config_.master.host, config_.master.port, config_.loopback_only);
  if (opened || chosen) co_return opened;
  hosts_ = false;  // another agent on this machine was first
  could_host_ = true;
  co_return Status();
}

// Who was first may be gone: then another of this machine takes its place.
void ElasticSession::try_to_host() {
  if (!could_host_ || hosts_) return;
  hosts_ = server_.listen(config_.master.host, config_.master.port, config_.loopback_only).has_value();
}

void ElasticSession::wake() {
  if (state_client_) state_client_->wake();
}

void ElasticSession::join() {
  ++generation_;
  if (line_) line_->close();
  line_.reset();
  mailbox_.forget_round();
  if (running_) {
    machine_.join(now());
    return wake();
  }
  running_ = true;
  run_in_background(executor_, run());
}

void ElasticSession::stop_joining() {
  ++generation_;  // what is forming has nobody to tell
  if (line_) line_->control().close();
}

asio::awaitable<bool> ElasticSession::connect() {
  Announcer announcer(now());
  const Time give_up = later(now(), config_.elastic->settings.join_timeout);
  const std::function<void(const Error&)> on_retry = [&](const Error& reason) {
    try_to_host();
    if (announcer.due())
      log_progress(fmt::format("waiting for the store at {} ({}); giving up in {}", to_text(config_.master),
                               reason.message, to_text(give_up - now())));
  };
  Endpoint endpoint = config_.master;
  if (hosts_) endpoint = {config_.loopback_only ? config_.master.host : "127.0.0.1", server_.port()};
  auto connected = co_await connect_to_store(endpoint, give_up, random_, on_retry);
  if (ending_) co_return false;
  if (!connected) {
    Error error = connected.error();
    error.message = fmt::format("the rendezvous timed out after {}: its store is missing: {}",
                                to_text(config_.elastic->settings.join_timeout), error.message);
    mailbox_.put(RendezvousFailed{std::move(error)});
    co_return false;
  }
  state_client_.emplace(std::move(*connected));
  reached_ = state_client_->peer();
  address_ = config_.elastic->address;
  if (address_.empty()) address_ = hosts_ ? config_.master.host : state_client_->own_address();
  if (address_ == "localhost") address_ = "127.0.0.1";  // which asks no resolver
  co_return true;
}

// As long as no round has formed here, nothing is lost with a store: it may have been that of a job that has ended.
asio::awaitable<void> ElasticSession::run() {
  while (co_await connect()) {
    machine_.join(now());
    const Error lost = co_await pursue();
    if (ended_) co_return;
    if (formed_once_ || ending_ || left_ || lost.code != ErrorCode::closed) {
      ended_ = true;
      end_timer_.cancel();
      if (!ending_) mailbox_.put(StoreLost{lost.message});
      co_return;
    }
    machine_ = ElasticRendezvous(with_self(config_), Random(random_.next()));
    ++generation_;  // what a round of that store has begun
    state_client_.reset();
    reached_.reset();
    log_info(
        fmt::format("the store at {} has gone before a round formed; looking for it anew", to_text(config_.master)));
  }
}

// Until the machine has ended, or the store is lost.
asio::awaitable<Error> ElasticSession::pursue() {
  Result<ElasticStep> step = machine_.start(instant());
  while (true) {
    for (ElasticNews& news : step->news) co_await take(std::move(news));
    if (ended_) co_return Error{};
    auto outcome = co_await state_client_->perform(std::move(step->next), machine_.deadline());
    if (ended_) co_return Error{};
    if (!outcome) co_return outcome.error();
    step = machine_.on(*outcome, instant());
    if (!step) co_return step.error();
  }
}

asio::awaitable<void> ElasticSession::take(ElasticNews news) {
  if (auto* formed = std::get_if<RoundFormed>(&news)) {
    members_ = formed->members;
    run_in_background(executor_, form_round(std::move(*formed), generation_));
  } else if (auto* broken = std::get_if<RoundBroken>(&news)) {
    run_in_background(executor_, explain_break(std::move(*broken), line_));
  } else if (const auto* waits = std::get_if<RoundWaits>(&news)) {
    run_in_background(executor_, announce(*waits, generation_));
  } else if (auto* refused = std::get_if<RoundRefused>(&news)) {
    co_await explain_refusal(std::move(*refused));
  } else if (std::holds_alternative<RendezvousEnded>(news)) {
    ended_ = true;
    end_timer_.cancel();
  }
}

asio::awaitable<void> ElasticSession::announce(RoundWaits waits, int generation) {
  const NodeLimits& limits = config_.elastic->settings.nodes;
  if (waits.spare) {
    log_progress(fmt::format("the job has its {} nodes; this one stands by", limits.max));
    co_return;
  }
  const std::string others =
      co_await other_jobs(reached_.value_or(config_.master), config_.run_id, waits.arrived, random_);
  if (line_ || ending_ || generation != generation_) co_return;
  log_progress(fmt::format(
      "waiting for the other nodes: {} of {} are in; giving up in {}{}", waits.arrived,
      limits.min == limits.max ? fmt::to_string(limits.max) : fmt::format("{} to {}", limits.min, limits.max),
      to_text(waits.left), others));
}

// Closed means that the job has ended; why, its launch agents have left in the store.
asio::awaitable<void> ElasticSession::explain_refusal(RoundRefused refused) {
  if (refused.spare) {
    mailbox_.put(NotNeeded{});
    co_return;
  }
  if (refused.error.code == ErrorCode::closed) {
    const auto failure = co_await read_abort(job_prefix());
    if (failure) {
      mailbox_.put(PeerFailed{*failure});
      co_return;
    }
    refused.error.message = fmt::format(
        "the rendezvous {} is closed: this job has ended; a new one needs another --rdzv-id", shown(config_.run_id));
  }
  mailbox_.put(RendezvousFailed{std::move(refused.error)});
}

// A node that starts its workers anew has said why, if it is a launch agent; that comes as PeerFailed.
asio::awaitable<void> ElasticSession::explain_break(RoundBroken broken, std::shared_ptr<RoundLine> line) {
  const int generation = generation_;
  if (line) {
    const auto failure = co_await read_abort(line->place().prefix);
    if (failure && failure->restart) co_return;
  }
  if (generation != generation_ || ending_) co_return;
  mailbox_.put(MembersChanged{std::move(broken.reason), broken.anew});
}

asio::awaitable<Result<StoreClient>> ElasticSession::connect_again(Time deadline) {
  co_return co_await connect_quietly(*reached_, deadline, random_);
}

asio::awaitable<std::optional<Failure>> ElasticSession::read_abort(std::string prefix) {
  const Time deadline = later(now(), quick_answer);
  auto client = co_await connect_again(deadline);
  if (!client) co_return std::nullopt;
  Operation get = GetKeys{KeyList(1, abort_key(prefix))};
  auto got = co_await client->perform(std::move(get), deadline);
  if (!got) co_return std::nullopt;
  const std::string& text = std::get<Values>(*got).values.at(0);
  if (text.empty()) co_return std::nullopt;
  auto failure = parse_failure(text);
  if (!failure) co_return std::nullopt;
  co_return *failure;
}

// ---- one round

asio::awaitable<void> ElasticSession::form_round(RoundFormed formed, int generation) {
  const Duration timeout = config_.elastic->settings.join_timeout;
  const Time deadline = later(now(), timeout);
  auto connected = co_await connect_again(deadline);
  if (generation != generation_ || ending_) co_return;
  if (!connected) {
    mailbox_.put(RendezvousFailed{connected.error()});
    co_return;
  }
  const int nnodes = static_cast<int>(formed.members.size());
  RoundLine::Place place{round_prefix(config_.run_id, formed.round), formed.rank, nnodes, std::string(push_key),
                         config_.heartbeat_timeout};
  const auto line = std::make_shared<RoundLine>(executor_, mailbox_, std::move(*connected), place);
  line_ = line;
  formed_once_ = true;
  line->start_watching(deadline);
  auto master = co_await meeting_.agree(line->control(), formed, address_);
  if (line->closed() || generation != generation_) co_return;
  if (!master) {
    mailbox_.put(RendezvousFailed{master.error()});
    co_return;
  }
  StaticJob job;
  job.run_id = place.prefix;
  job.nnodes = nnodes;
  job.self = Member{formed.rank, config_.role, config_.nproc_per_node};
  job.identical_workers = config_.identical_workers;
  job.timeout = timeout;
  job.found = true;
  StaticRendezvous machine(std::move(job));
  auto round = co_await form(line->control(), std::move(machine), say_nothing_of, no_fence);
  if (line->closed() || generation != generation_) co_return;
  if (!round) {
    mailbox_.put(RendezvousFailed{round.error()});
    co_return;
  }
  restarts_ = co_await count_restarts(line);
  if (line->closed() || generation != generation_) co_return;
  round->restarts = restarts_;
  round->master = *master;
  line->pledge(config_.hostname, others_go_on(), *round);
}

asio::awaitable<int> ElasticSession::count_restarts(std::shared_ptr<RoundLine> line) {
  Operation get = GetKeys{KeyList(1, restarts_key())};
  auto got = co_await line->control().perform(std::move(get), later(now(), quick_answer));
  if (!got) co_return restarts_;
  co_return parse_int(std::get<Values>(*got).values.at(0)).value_or(0);
}

// ---- the end of a round, and of the job

// A node that is told to stop leaves a job that could go on without it.
bool ElasticSession::others_go_on() const {
  const NodeLimits& limits = config_.elastic->settings.nodes;
  return limits.min < limits.max || config_.restarts.max_restarts > 0;
}

asio::awaitable<void> ElasticSession::tell(Failure failure) {
  if (!reached_) co_return;  // this node has never reached the store
  if (failure.kind == Failure::Kind::signal && others_go_on()) {
    left_ = true;
    machine_.leave(now());
    wake();
    co_return;
  }
  const Time deadline = later(now(), quick_answer);
  Result<Failure> first = failure;
  if (line_) first = co_await line_->tell(failure);
  auto client = co_await connect_again(deadline);
  if (client && first && first->restart && first->kind != Failure::Kind::lost) {
    Operation count = SetKeys{{{restarts_key(), std::to_string(restarts_ + 1)}}};
    (void)co_await client->perform(std::move(count), deadline);
  }
  // An end is told to those who are about to go on, too: when they find the rendezvous closed.
  const bool final = !failure.restart || (first && !first->restart);
  if (client && first && final) {
    const Failure why = first->restart ? failure : *first;
    first = co_await tell_abort(*client, job_prefix(), why, deadline);
    machine_.close(now());
    wake();
  }
  pass_on(mailbox_, first);
}

// Who hosts a store waits for the others as long as it takes, where it would hear of a node that goes away.
void ElasticSession::enter_barrier() {
  const bool may_wait_in_vain = mixed() && (hosts_ || meeting_.hosts());
  line_->start_leaving(may_wait_in_vain ? std::optional(exit_barrier_timeout) : std::nullopt);
}

bool ElasticSession::mixed() const { return !std::all_of(members_.begin(), members_.end(), is_launch); }

std::vector<int> ElasticSession::launch_nodes() const {
  std::vector<int> nodes;
  for (std::size_t rank = 0; rank < members_.size(); ++rank)
    if (is_launch(members_[rank])) nodes.push_back(static_cast<int>(rank));
  return nodes;
}

// The first of the launch nodes gathers. Who has left the others to themselves does not, and says so.
asio::awaitable<Account> ElasticSession::share(Account own, Failure first) {
  if (!line_ || line_->lost()) co_return own;
  auto client = co_await connect_again(later(now(), EndExchange::to_connect));
  if (!client) co_return own;
  std::vector<int> nodes = launch_nodes();
  if (first.kind == Failure::Kind::lost) std::erase(nodes, first.node_rank);
  if (nodes.empty()) co_return own;
  EndExchange::Place place{line_->place().prefix, line_->place().node_rank, nodes.front(), {}, most_for_end(config_)};
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

asio::awaitable<void> ElasticSession::await_end(Time deadline) {
  while (running_ && !ended_ && now() < deadline) {
    end_timer_.expires_at(to_steady(deadline));
    (void)co_await end_timer_.async_wait(as_values);
  }
}

asio::awaitable<void> ElasticSession::end(bool failed) {
  ending_ = true;
  const Time start = now();
  // Who has lost the store has been taken for dead: the others may have gone on without it.
  if (!left_ && line_ && line_->lost() && others_go_on()) {
    machine_.leave(start);
  } else if (!left_) {
    machine_.close(start);
  }
  wake();
  if (!state_client_) co_return;
  co_await await_end(later(start, quick_answer));
  ended_ = true;
  if ((hosts_ || meeting_.hosts()) && failed && line_ && !left_) {
    if (auto client = co_await connect_again(later(start, quick_answer)))
      co_await await_informed(*client, line_->place().prefix, launch_nodes(), later(start, quick_answer));
  }
  if (line_) line_->close();
  state_client_->close();
  if (!hosts_) co_return;
  // launch agents know of a failure; torchrun's take their time.
  if (failed && !mixed()) co_return co_await server_.until_quiet(later(start, silent_farewell));
  co_await see_talkers_off(server_, start);
}

void ElasticSession::hurry() {
  exchange_.hurry();
  server_.stop_waiting();
}

}  // namespace launch

#include "launch/app/static_session.hpp"

#include "launch/app/announcer.hpp"
#include "launch/app/conversations.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/rendezvous/heartbeat.hpp"
#include "launch/core/store/keys.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/guard.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"
#include "launch/io/port_holder.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration one_look = 5s;
constexpr Duration one_try = 500ms;
constexpr Duration to_notice = 5s;  // that somebody is silent

// This process has a pid that may have been another's before.
bool is_living_agent(pid_t pid) {
  const auto found = pid == ::getpid() ? std::nullopt : stat_of(pid);
  return found && found->name == agent_name && found->state != 'Z';
}

}  // namespace

StaticSession::StaticSession(asio::any_io_executor executor, Config& config, StoreServer& server, Mailbox& mailbox)
    : executor_(std::move(executor)), config_(config), server_(server), mailbox_(mailbox), random_(random_seed()) {
  identity_ = agent_identity(config_.hostname, ::getpid(), static_cast<std::uint32_t>(random_.next() >> 32U));
}

Status StaticSession::open() {
  if (!hosts()) return {};
  server_.set_silence_limit(plan_heartbeat(config_.heartbeat_timeout, config_.nnodes).silence);
  server_.set_agent_keys(agent_keys(config_.run_id));
  server_.preset(std::string(host_key), "1");
  server_.expect_guests(config_.run_id, config_.nnodes);
  const Status opened = listen();
  opens_late_ = !opened && is_port_cooling(config_.master.port);
  return opens_late_ ? Status() : opened;
}

Status StaticSession::listen() {
  return server_.listen(config_.master.host, config_.master.port, config_.loopback_only);
}

// The last user of the port has ended, and the kernel keeps it for a minute. open() does not wait: no signal is heard
// then.
asio::awaitable<bool> StaticSession::open_late(int attempt) {
  announce_wait_for_port(config_.master.port);
  asio::steady_timer timer(executor_);
  while (attempt == attempt_ && !ending_) {
    const Status opened = listen();
    opens_late_ = !opened;
    if (opened) co_return true;
    if (now() >= give_up_joining_ || !is_port_cooling(config_.master.port)) {
      mailbox_.put(RendezvousFailed{opened.error()});
      co_return false;
    }
    timer.expires_after(one_try);
    (void)co_await timer.async_wait(as_values);
  }
  co_return false;
}

Endpoint StaticSession::store_endpoint() const {
  // The host's own way in does not depend on the name the others use.
  if (hosts()) return Endpoint{config_.loopback_only ? config_.master.host : "127.0.0.1", config_.master.port};
  return config_.master;
}

StaticJob StaticSession::static_job() const {
  StaticJob job;
  job.run_id = prefix();
  job.nnodes = config_.nnodes;
  job.self = Member{config_.node_rank, config_.role, config_.nproc_per_node};
  job.identical_workers = config_.identical_workers && attempt_ == 0;
  job.timeout = give_up_joining_ - now();
  job.fence = attempt_ > 0;
  job.survey = config_.restarts.max_restarts > 0;
  job.restarts = attempt_;
  job.identity = identity_;
  job.common = common_settings(config_);
  job.report_interval = progress_interval();
  return job;
}

void StaticSession::join(bool /*admits*/, int /*restarts*/) {
  ++attempt_;
  formed_ = stopped_ = false;
  if (line_) {
    line_->retire();
    earlier_lines_.push_back(std::exchange(line_, nullptr));
  }
  mailbox_.forget_round();
  give_up_joining_ = later(now(), config_.rendezvous_timeout);
  run_in_background(executor_, join_attempt(attempt_));
  if (attempt_ == 0 && hosts() && !is_loopback(config_.master.host))
    run_in_background(executor_, look_for_another_node_0());
}

void StaticSession::stop_joining() {
  stopped_ = true;
  if (line_) line_->control().close();
}

asio::awaitable<void> StaticSession::join_attempt(int attempt) {
  if (opens_late_) {
    const bool open = co_await open_late(attempt);
    if (!open) co_return;
  }
  Joined joined = co_await join_once(attempt);
  while (joined != Joined::over) {
    if (joined == Joined::store_gone)
      log_info(fmt::format("the store of node 0 at {} has gone before the job had formed; looking for it again",
                           to_text(config_.master)));
    asio::steady_timer timer(executor_, to_steady(later(now(), one_try)));
    (void)co_await timer.async_wait(as_values);
    if (attempt != attempt_ || stopped_ || ending_) co_return;
    joined = co_await join_once(attempt);
  }
}

asio::awaitable<StaticSession::Joined> StaticSession::join_once(int attempt) {
  Announcer announcer(now());
  const std::function<void(const Error&)> on_retry = [&](const Error& reason) {
    if (announcer.due())
      log_progress(fmt::format("waiting for the store of node 0 at {} ({}); giving up in {}", to_text(config_.master),
                               reason.message, to_text(give_up_joining_ - now())));
  };
  auto connected = co_await connect_to_store(reached_.value_or(store_endpoint()), give_up_joining_, random_, on_retry);
  if (attempt != attempt_ || stopped_ || ending_) co_return Joined::over;
  if (!connected) {
    Error error = connected.error();
    error.message = fmt::format("the rendezvous timed out after {}: node 0 is missing: {}",
                                to_text(config_.rendezvous_timeout), error.message);
    mailbox_.put(RendezvousFailed{std::move(error)});
    co_return Joined::over;
  }
  reached_ = connected->peer();
  RoundLine::Place here = place(attempt);
  if (!earlier_lines_.empty()) here.by_launch = earlier_lines_.back()->place().by_launch;
  const auto line = std::make_shared<RoundLine>(executor_, mailbox_, std::move(*connected), std::move(here));
  line_ = line;
  if (attempt == 0 && !hosts()) line->wait_for_store();
  auto formed = co_await form_on(line);
  if (line->closed() || attempt != attempt_) co_return Joined::over;
  if (formed) {
    formed_ = true;
    line->formed();
    mailbox_.put(RendezvousDone{*formed});
    co_return Joined::over;
  }
  bool lost = formed.error().code == ErrorCode::closed;
  if (lost) lost = co_await line->was_lost(later(now(), quick_answer));
  if (line->closed() || attempt != attempt_) co_return Joined::over;
  if (formed.error().code == ErrorCode::closed && attempt > 0) {
    mailbox_.put(StoreLost{formed.error().message});
    co_return Joined::over;
  }
  const bool held = is_held_by_the_dead();
  if (!(lost || held) || stopped_ || ending_) {
    mailbox_.put(RendezvousFailed{formed.error()});
    co_return Joined::over;
  }
  line->close();
  if (held) co_return Joined::rank_held;
  reached_.reset();
  co_return Joined::store_gone;
}

// This host has lost its power, and is back before the store has noticed. Where the agent that claims the rank cannot
// be seen from here, as in another container, the store knows that it lives when it has heard of it for long enough.
bool StaticSession::is_held_by_the_dead() {
  const std::string holder = std::exchange(holder_, "");
  const Duration silence = plan_heartbeat(config_.heartbeat_timeout, config_.nnodes).silence;
  const auto pid = pid_of_agent(holder, config_.hostname);
  if (!pid || is_living_agent(*pid) || silence == Duration::zero()) return false;
  if (held_until_ == never) {
    held_until_ = later(now(), silence + to_notice);
    log_info(
        fmt::format("node rank {} is still claimed by {}, which has ended here; waiting until node 0 notices that, {} "
                    "at most",
                    config_.node_rank, shown(holder), to_text(held_until_ - now())));
  }
  return now() < held_until_;
}

// The will stands before the claim of the rank does: a node that can be counted in can be missed.
asio::awaitable<Result<Round>> StaticSession::form_on(std::shared_ptr<RoundLine> line) {
  const int attempt = attempt_;
  auto pledged = co_await line->pledge(will(), give_up_joining_);
  if (!pledged) co_return Error{ErrorCode::closed, pledged.error().message};
  if (line->closed() || attempt != attempt_) co_return Error{ErrorCode::cancelled, "the attempt is over"};
  for (const auto& earlier : std::exchange(earlier_lines_, {})) earlier->close();
  line->start_watching(give_up_joining_);
  StaticRendezvous machine(static_job());
  const std::function<void(const Waiting&)> on_waiting = [this, attempt](const Waiting& waiting) {
    run_in_background(executor_, announce(waiting, attempt));
  };
  const std::function<void()> fence = [this] { server_.fence(); };
  auto formed = co_await form(line->control(), machine, on_waiting, fence);
  holder_ = machine.holder();
  co_return formed;
}

RoundLine::Place StaticSession::place(int attempt) const {
  return {attempt_prefix(config_.run_id, attempt), config_.node_rank, config_.nnodes, std::string(host_key),
          config_.heartbeat_timeout};
}

// The attempt may have failed already when this node is lost: then those who go on to the next one are told there.
// Identical workers start without waiting for the others: from then on the loss of their node is the job's.
Will StaticSession::will() const {
  Will will = will_in_barrier();
  Will now = last_will(place(attempt_), config_.hostname, false);
  will.words.insert(will.words.begin(), std::move(now.words.front()));
  return will;
}

// Its workers have ended well, so its loss harms nobody, unless the others start again.
Will StaticSession::will_in_barrier() const {
  Will will = last_will(place(attempt_ + 1), config_.hostname, false);
  will.gone.push_back(account_key(prefix(), config_.node_rank));
  will.claim = Will::Claim{claim_key(config_.run_id, config_.node_rank),
                           identity_,
                           config_.identical_workers ? "" : begun_key(config_.run_id),
                           {role_info_key(config_.run_id, config_.node_rank)}};
  return will;
}

asio::awaitable<void> StaticSession::announce(Waiting waiting, int attempt) {
  const std::string others =
      co_await other_jobs(reached_.value_or(store_endpoint()), config_.run_id, waiting.arrived, random_);
  if (formed_ || ending_ || attempt != attempt_) co_return;
  std::string missing;
  if (!waiting.missing.empty()) missing = fmt::format(", missing node rank {}", fmt::join(waiting.missing, ", "));
  log_progress(fmt::format("waiting for the other nodes: {} of {} are in{}; giving up in {}{}", waiting.arrived,
                           config_.nnodes, missing, to_text(waiting.left), others));
}

asio::awaitable<Result<StoreClient>> StaticSession::connect_again(Time deadline) {
  co_return co_await connect_quietly(reached_.value_or(store_endpoint()), deadline, random_);
}

// Two machines that both take themselves for node 0 both have a store. Where the address that the user gave leads to
// the other's, the claim found there is not ours.
asio::awaitable<void> StaticSession::look_for_another_node_0() {
  while (!formed_ && !ending_ && attempt_ == 0) {
    const Time deadline = std::min(give_up_joining_, later(now(), one_look));
    auto client = co_await connect_quietly(config_.master, deadline, random_);
    if (now() >= give_up_joining_) co_return;
    if (!client) continue;
    auto claim = co_await await_claim(*client, config_.run_id, 0, give_up_joining_);
    if (!claim || *claim == identity_) co_return;
    Error error = rank_used_twice(static_job(), *claim);
    Failure failure;
    failure.kind = Failure::Kind::rendezvous;
    failure.exit_code = exit_code(error.code);
    failure.host = config_.hostname;
    failure.what = error.message;
    (void)co_await tell_abort(*client, config_.run_id, std::move(failure), later(now(), quick_answer));
    mailbox_.put(RendezvousFailed{std::move(error)});
    co_return;
  }
}

asio::awaitable<void> StaticSession::tell(Failure failure) {
  if (!reached_ && !hosts()) co_return;  // this node has never reached the store
  const Time deadline = later(now(), quick_answer);
  auto client = co_await connect_again(deadline);
  Result<Failure> first = failure;
  if (client) {
    first = co_await tell_abort(*client, prefix(), failure, deadline);
  } else {
    first = client.error();
  }
  // An end is told to those who are about to go on, too.
  if (first && first->restart && !failure.restart)
    first = co_await tell_abort(*client, attempt_prefix(config_.run_id, attempt_ + 1), failure, deadline);
  pass_on(mailbox_, first);
}

void StaticSession::enter_barrier() { run_in_background(executor_, leave_round(line_)); }

// Who hosts the store waits for the others as long as it takes, where it would hear of a node that goes away.
asio::awaitable<void> StaticSession::leave_round(std::shared_ptr<RoundLine> line) {
  std::optional<Duration> patience;
  if (hosts()) {
    const auto nodes = co_await claimed_nodes(line->control(), prefix(), config_.nnodes, later(now(), quick_answer));
    mixed_ = static_cast<int>(nodes.size()) < config_.nnodes;
    if (mixed_) patience = exit_barrier_timeout;
  }
  if (line->closed()) co_return;
  line->start_leaving(patience, [this, line] { line->replace_will(will_in_barrier()); });
}

// Node 0 gathers. Where it is torchrun's, nobody would.
asio::awaitable<Account> StaticSession::share(Account own, Failure first) {
  if (!line_ || line_->lost()) co_return own;
  auto client = co_await connect_again(later(now(), EndExchange::to_connect));
  if (!client) co_return own;
  ExchangePlace place{prefix(), config_.node_rank, 0, {}, most_for_end(config_)};
  std::vector<int> nodes =
      co_await claimed_nodes(*client, config_.run_id, hosts() ? config_.nnodes : 1, later(now(), quick_answer));
  if (nodes.empty()) co_return own;
  std::erase(nodes, config_.node_rank);
  if (first.kind == Failure::Kind::lost) std::erase(nodes, first.node_rank);
  if (hosts()) place.others = std::move(nodes);
  co_return co_await exchange_.share(std::move(*client), std::move(place), std::move(own));
}

void StaticSession::hurry() {
  exchange_.hurry();
  server_.stop_waiting();
}

// The store ends with us: not before its peers know the end of the job.
asio::awaitable<void> StaticSession::end(bool failed) {
  ending_ = true;
  if (hosts() && failed) {
    const Time deadline = later(now(), quick_answer);
    if (auto client = co_await connect_again(deadline)) {
      std::vector<int> nodes = co_await claimed_nodes(*client, config_.run_id, config_.nnodes, deadline);
      co_await await_informed(*client, prefix(), std::move(nodes), deadline);
    }
  }
  for (const auto& earlier : earlier_lines_) earlier->close();
  if (line_) line_->close();
  if (!hosts() || failed) co_return;
  if (mixed_) co_return co_await see_talkers_off(server_, now());
  // No worker is left on any node. Whoever else is connected has nothing to do with the job's end.
  co_await server_.until_no_agent(later(now(), peers_patience));
}

}  // namespace launch

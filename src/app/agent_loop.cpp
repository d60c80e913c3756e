#include "launch/app/agent_loop.hpp"

#include "launch/app/rendezvous_session.hpp"
#include "launch/core/worker_spec.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <csignal>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration first_word = 1s;  // until we say what we wait for
constexpr Duration next_word = 30s;
constexpr Duration one_look = 5s;
constexpr Duration quick = 2s;            // for what a live store answers in a round trip
constexpr Duration peers_patience = 30s;  // torchrun's agents take seconds to end

AgentSettings agent_settings(const Config& config) {
  return {config.nnodes, config.node_rank, config.nproc_per_node, config.hostname, config.shutdown_timeout};
}

void log_refusal(const std::string& reason) {
  // A scanner that comes again and again must not fill the log.
  static int left = 10;
  if (left-- > 0) log_warning("store: " + reason);
}

// Tells every so often what a wait is for.
class Announcer {
 public:
  explicit Announcer(Time start) : next_(later(start, first_word)) {}

  bool due() {
    if (now() < next_) return false;
    next_ = later(now(), next_word);
    return true;
  }

 private:
  Time next_;
};

void announce(const Waiting& waiting, int nnodes) {
  std::string missing;
  if (!waiting.missing.empty()) missing = fmt::format(", missing node rank {}", fmt::join(waiting.missing, ", "));
  log_info(fmt::format("waiting for the other nodes: {} of {} are in{}; giving up in {}", waiting.arrived, nnodes,
                       missing, to_text(waiting.left)));
}

}  // namespace

AgentLoop::AgentLoop(asio::any_io_executor executor, Config config, const SignalPlan& signals, rlimit open_files)
    : executor_(executor),
      config_(std::move(config)),
      signals_(executor, signals),
      random_(random_seed()),
      server_(executor, log_refusal),
      agent_(agent_settings(config_)),
      mailbox_(executor),
      workers_(executor, Inheritance{signals.reset, open_files},
               [this](int local_rank, pid_t pid, ExitStatus status) { worker_exited(local_rank, pid, status); }),
      identity_(fmt::format("host {} (pid {}, {:08x})", config_.hostname, ::getpid(), random_.next() >> 32U)) {}

Status AgentLoop::open_store() {
  if (!hosts()) return {};
  if (!config_.serves_workers) {
    config_.master.port = free_port();
    return {};
  }
  Status opened = server_.listen(config_.master.host, config_.master.port, config_.loopback_only);
  if (opened) config_.master.port = server_.port();
  return opened;
}

asio::awaitable<int> AgentLoop::run() {
  run_in_background(executor_, watch_signals());
  AgentActions actions = agent_.start(now());
  while (!exit_code_) {
    for (AgentAction& action : actions) co_await carry_out(std::move(action));
    if (exit_code_) break;
    const auto event = co_await mailbox_.take(agent_.deadline());
    actions = event ? agent_.on(*event, now()) : agent_.on_deadline(now());
  }
  co_return *exit_code_;
}

// ---- sources of events

asio::awaitable<void> AgentLoop::watch_signals() {
  while (true) {
    const auto signal = co_await signals_.next();
    if (!signal) co_return;
    if (*signal == SIGCHLD) {
      if (started_) look_for_end();
      continue;
    }
    if (leaving_) server_.stop_waiting();
    mailbox_.put(SignalReceived{*signal});
    log_info(fmt::format("received {}, stopping", signal_name(*signal)));
  }
}

Endpoint AgentLoop::store_endpoint() const {
  // The host's own way in does not depend on the name the others use.
  if (hosts()) return Endpoint{config_.loopback_only ? config_.master.host : "127.0.0.1", config_.master.port};
  return config_.master;
}

asio::awaitable<void> AgentLoop::join() {
  Announcer announcer(now());
  const std::function<void(const Error&)> on_retry = [&](const Error& reason) {
    if (announcer.due())
      log_info(fmt::format("waiting for the store of node 0 at {} ({}); giving up in {}", to_text(config_.master),
                           reason.message, to_text(give_up_joining_ - now())));
  };
  auto connected = co_await connect_to_store(store_endpoint(), give_up_joining_, random_, on_retry);
  if (!connected) {
    Error error = connected.error();
    error.message = fmt::format("the rendezvous timed out after {}: node 0 is missing: {}",
                                to_text(config_.rendezvous_timeout), error.message);
    mailbox_.put(RendezvousFailed{std::move(error)});
    co_return;
  }
  control_.emplace(std::move(*connected));
  reached_ = control_->peer();
  run_in_background(executor_, watch_abort());
  StaticRendezvous machine(static_job());
  const std::function<void(const Waiting&)> on_waiting = [this](const Waiting& waiting) {
    announce(waiting, config_.nnodes);
  };
  auto formed = co_await form(*control_, std::move(machine), on_waiting);
  if (formed) {
    mailbox_.put(RendezvousDone{*formed});
  } else {
    mailbox_.put(RendezvousFailed{formed.error()});
  }
}

asio::awaitable<Result<StoreClient>> AgentLoop::connect_again(Time deadline) {
  const std::function<void(const Error&)> say_nothing = [](const Error&) {};
  co_return co_await connect_to_store(reached_.value_or(store_endpoint()), deadline, random_, say_nothing);
}

asio::awaitable<void> AgentLoop::watch_abort() {
  auto connected = co_await connect_again(give_up_joining_);
  if (!connected) {
    mailbox_.put(StoreLost{connected.error().message});
    co_return;
  }
  watch_.emplace(std::move(*connected));
  auto failure = co_await await_abort(*watch_, config_.run_id, config_.node_rank);
  if (leaving_) co_return;
  if (failure) {
    mailbox_.put(PeerFailed{*failure});
  } else {
    mailbox_.put(StoreLost{failure.error().message});
  }
}

// Two machines that both take themselves for node 0 both have a store. Where the address that the user gave leads to
// the other's, the claim found there is not ours.
asio::awaitable<void> AgentLoop::look_for_another_node_0() {
  const std::function<void(const Error&)> say_nothing = [](const Error&) {};
  while (!started_ && !leaving_) {
    const Time deadline = std::min(give_up_joining_, later(now(), one_look));
    auto client = co_await connect_to_store(config_.master, deadline, random_, say_nothing);
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
    (void)co_await tell_abort(*client, config_.run_id, std::move(failure), later(now(), quick));
    mailbox_.put(RendezvousFailed{std::move(error)});
    co_return;
  }
}

asio::awaitable<void> AgentLoop::leave() {
  ExitBarrier barrier(config_.run_id, config_.nnodes);
  auto passed = co_await pass(*control_, std::move(barrier));
  if (passed && !*passed)
    log_warning(fmt::format("some nodes have not ended {} after this one; leaving without them",
                            to_text(exit_barrier_timeout)));
  mailbox_.put(BarrierDone{});
}

void AgentLoop::worker_exited(int local_rank, pid_t pid, ExitStatus status) {
  WorkerExited event{local_rank, status, {}};
  if (!status.ok()) event.failure = worker_failure(local_rank, pid, status);
  mailbox_.put(std::move(event));
  look_for_end();
}

void AgentLoop::look_for_end() {
  if (workers_.collect()) mailbox_.put(AllGone{});
}

Failure AgentLoop::worker_failure(int local_rank, pid_t pid, ExitStatus status) const {
  Failure failure;
  failure.kind = Failure::Kind::worker;
  failure.exit_code = exit_code(status);
  failure.node_rank = config_.node_rank;
  failure.host = config_.hostname;
  failure.rank = assignment_.base_global_rank + local_rank;
  failure.local_rank = local_rank;
  failure.pid = pid;
  failure.what = to_text(status);
  failure.time = wall_time_text();
  folder_.complete(failure);
  return failure;
}

// ---- actions

asio::awaitable<void> AgentLoop::carry_out(AgentAction action) {
  auto task = std::visit([this](auto& one) { return carry_out_one(std::move(one)); }, action);
  co_await std::move(task);
}

asio::awaitable<void> AgentLoop::carry_out_one(StartRendezvous /*action*/) {
  give_up_joining_ = later(now(), config_.rendezvous_timeout);
  if (alone()) {
    const int nproc = config_.nproc_per_node;
    mailbox_.put(RendezvousDone{Assignment{0, 1, 0, nproc, 0, nproc}});
  } else {
    run_in_background(executor_, join());
    if (hosts() && !is_loopback(config_.master.host)) run_in_background(executor_, look_for_another_node_0());
  }
  co_return;
}

asio::awaitable<void> AgentLoop::carry_out_one(StopRendezvous /*action*/) {
  if (control_) control_->close();
  co_return;
}

asio::awaitable<void> AgentLoop::carry_out_one(StartWorkers action) {
  assignment_ = action.assignment;
  started_ = true;
  const Status made = folder_.make(config_);
  Failure failure;
  failure.kind = Failure::Kind::start;
  failure.node_rank = config_.node_rank;
  failure.host = config_.hostname;
  if (!made) {
    failure.what = made.error().message;
    mailbox_.put_first(StartFailed{failure});
    co_return;
  }
  std::vector<WorkerSpec> specs = make_worker_specs(config_, assignment_, folder_.attempt());
  folder_.expect(specs);
  const auto not_started = workers_.start(std::move(specs), config_.program.script);
  folder_.follow(executor_, config_.logs);
  if (!not_started) co_return;
  failure.exit_code = not_started->exit_code;
  failure.local_rank = not_started->local_rank;
  failure.rank = assignment_.base_global_rank + not_started->local_rank;
  failure.what = not_started->message;
  failure.time = wall_time_text();
  mailbox_.put_first(StartFailed{failure});
}

asio::awaitable<void> AgentLoop::carry_out_one(SignalWorkers action) {
  workers_.signal_all(action.signal);
  look_for_end();
  co_return;
}

asio::awaitable<void> AgentLoop::carry_out_one(KillWorkers /*action*/) {
  if (const auto left = workers_.remaining(); !left.empty())
    log_warning(fmt::format("still running {} after being told to end: pid {}; sending SIGKILL",
                            to_text(config_.shutdown_timeout), fmt::join(left, ", ")));
  workers_.signal_all(SIGKILL);
  look_for_end();
  co_return;
}

asio::awaitable<Result<Failure>> AgentLoop::tell(Failure failure) {
  const Time deadline = later(now(), quick);
  auto client = co_await connect_again(deadline);
  if (!client) co_return client.error();
  co_return co_await tell_abort(*client, config_.run_id, std::move(failure), deadline);
}

asio::awaitable<void> AgentLoop::carry_out_one(TellPeers action) {
  if (!reached_ && !hosts()) co_return;  // this node has never reached the store
  auto first = co_await tell(std::move(action.failure));
  if (first) {
    mailbox_.put_first(PeerFailed{*first});
  } else {
    log_warning("the other nodes could not be told: " + first.error().message);
  }
}

asio::awaitable<void> AgentLoop::carry_out_one(EnterBarrier /*action*/) {
  run_in_background(executor_, leave());
  co_return;
}

asio::awaitable<void> AgentLoop::carry_out_one(Finish action) {
  co_await folder_.show_rest();
  say_end(action);
  folder_.remove_empty();
  co_await see_peers_off(action.first.has_value());
  exit_code_ = action.exit_code;
}

// The store ends with us: not before its peers know the end of the job.
asio::awaitable<void> AgentLoop::see_peers_off(bool failed) {
  leaving_ = true;
  if (hosts() && !alone() && failed) {
    const Time deadline = later(now(), quick);
    if (auto client = co_await connect_again(deadline))
      co_await await_informed(*client, config_.run_id, config_.nnodes, deadline);
  }
  if (control_) control_->close();
  if (watch_) watch_->close();
  if (!hosts() || alone() || failed) co_return;
  const Time start = now();
  co_await server_.until_quiet(later(start, first_word));
  if (server_.talkers() == 0) co_return;
  log_info(fmt::format("waiting for {} connections to the store to end", server_.talkers()));
  co_await server_.until_quiet(later(start, peers_patience));
}

void AgentLoop::say_end(const Finish& end) {
  if (end.left_behind)
    log_error(fmt::format("these processes outlived SIGKILL: pid {}", fmt::join(workers_.remaining(), ", ")));
  if (!end.first) return;
  if (end.first->kind == Failure::Kind::worker) {
    write_report(render_report(ReportInput{config_.program.name, config_.run_id, *end.first, end.others}));
  } else {
    log_error(fmt::format("{} (exit code {})", describe(*end.first), end.exit_code));
  }
}

StaticJob AgentLoop::static_job() const {
  StaticJob job;
  job.run_id = config_.run_id;
  job.nnodes = config_.nnodes;
  job.self = Member{config_.node_rank, config_.role, config_.nproc_per_node};
  job.identical_workers = config_.identical_workers;
  job.timeout = give_up_joining_ - now();
  job.identity = identity_;
  return job;
}

}  // namespace launch

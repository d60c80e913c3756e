#include "launch/app/agent_loop.hpp"

#include "launch/app/time_limit.hpp"
#include "launch/core/agent/agent_settings.hpp"
#include "launch/core/workers/worker_spec.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/guard.hpp"
#include "launch/io/host.hpp"
#include "launch/io/log.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace asio = boost::asio;

namespace {

constexpr Duration time_to_open = std::chrono::seconds(2);
constexpr Duration interval_holds = std::chrono::milliseconds(200);  // for which progress_interval() is reused

}  // namespace

AgentLoop::AgentLoop(asio::any_io_executor executor, std::shared_ptr<const Config> config, const AgentStart& start)
    : executor_(executor),
      config_(*config),
      signals_(executor, start.signals),
      guard_(start.guard),
      desk_({SIGCHLD, guard_gone_signal(), start.signals.passed, config_.signals, config_.preemption.signal}),
      node_(config_, {::getpid(), random_seed()}),
      untold_(executor),
      moment_(executor),
      exited_(executor, asio::steady_timer::time_point::max()),
      pulse_(executor, start.guard, [this](Duration stall) { put_first(StoodStill{stall}); }),
      network_(executor, [this](Answer answer) { feed(std::move(answer)); }),
      starter_(executor),
      workers_(executor, starter_, {start.signals.reset, start.open_files, config_.pid, config_.verdict.hosted},
               [this](LocalRank local_rank, pid_t pid, ExitStatus status) { worker_exited(local_rank, pid, status); }),
      hooks_(executor, config_, workers_),
      record_(executor, std::move(config), starter_),
      memory_(executor),
      control_(executor, {config_, node_, workers_, record_, round_},
               {[this](NodeEvent event) { feed(std::move(event)); }, [this](pid_t asker) { stop_for(asker); }}) {
  network_.count_into(record_.metrics().store(), control_.arrivals());
}

asio::awaitable<int> AgentLoop::run() {
  run_in_background(executor_, watch_signals());
  const Status opened = co_await open();
  if (!opened) {
    log_error(opened.error().message);
    record_.events().not_begun(opened.error());
    co_await record_.events().flush();
    co_await control_.closed();
    co_return exit_code(opened.error().code);
  }
  run_in_background(executor_, watch_time());
  feed(StartNode{});
  while (!exit_code_) (void)co_await exited_.async_wait(as_values);
  co_return *exit_code_;
}

// An event that an action causes while it is carried out waits until the actions beside it are carried out, too.
void AgentLoop::feed(NodeEvent event) {
  pulse_.look();
  fed_.push_back(std::move(event));
  if (std::exchange(feeding_, true)) return;
  while (!fed_.empty()) {
    NodeEvent next = std::move(fed_.front());
    fed_.pop_front();
    for (NodeAction& action : node_.on(std::move(next), moment()))
      std::visit([this](auto& one) { carry_out(std::move(one)); }, action);
  }
  feeding_ = false;
  stopping_.count_down(node_.kills_at(), workers_);
  set_timer();
}

// The terminal is asked only now and then, because that is a system call, and there are many events.
Moment AgentLoop::moment() {
  const Instant at = instant();
  if (at.time >= interval_until_) {
    interval_ = progress_interval();
    interval_until_ = later(at.time, interval_holds);
  }
  return {at, interval_};
}

void AgentLoop::set_timer() {
  const Time next = stopping_.next(node_.deadline());
  if (std::exchange(alarm_, next) == next) return;
  moment_.expires_at(to_steady(next));
  moment_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    alarm_ = never;
    feed(MomentReached{});
  });
}

// Errors of its files are reported before others hear of this node. But they hear of it even if a disk stalls.
asio::awaitable<Status> AgentLoop::open() {
  const Time give_up = later(now(), time_to_open);
  Status opened = co_await record_.open(give_up);
  if (opened && !config_.timer_file.empty()) {
    watchdog_.emplace(executor_, [this](const ExpiredTimer& timer) { return timer_expired(timer); });
    opened = co_await watchdog_->open(starter_, config_.timer_file, give_up);
  }
  if (!opened) co_return opened;
  control_.open();
  feed(OpenSession{});
  co_return *std::move(opened_);
}

// ---- sources of events

asio::awaitable<void> AgentLoop::watch_signals() {
  while (true) {
    const auto received = co_await signals_.next();
    if (!received) co_return;
    take(*received);
  }
}

// The scheduler will end the job: its workers are told in time.
asio::awaitable<void> AgentLoop::watch_time() {
  if (!co_await time_is_short(executor_, config_.preemption)) co_return;
  const int signal = warning_signal(config_.preemption);
  desk_.meaning_of_time(workers_are()) == SignalMeaning::warning ? warn(signal) : stop_by({signal, 0, clock_sender});
}

WorkersAre AgentLoop::workers_are() const {
  if (!started_) return WorkersAre::not_there;
  return workers_.ended() ? WorkersAre::ended : WorkersAre::running;
}

void AgentLoop::take(const ReceivedSignal& received) {
  if (received.sender == guard_) pulse_.hear();
  switch (desk_.meaning_of(received.signal, way_of(received), workers_are(), now())) {
    case SignalMeaning::child_ended:
      return started_ ? look_for_end() : void();
    case SignalMeaning::guard_gone:
      return lose_guard();
    case SignalMeaning::known:
      return;
    case SignalMeaning::pass_on:
      return pass_on(received.signal);
    case SignalMeaning::warning:
      return warn(received.signal);
    case SignalMeaning::stop:
      return stop_by(received);
  }
}

void AgentLoop::lose_guard() {
  guard_lost_ = true;
  record_.hurry(true);
  put_first(GuardLost{});
}

void AgentLoop::stop_by(const ReceivedSignal& received) {
  record_.hurry(false);
  std::string sender = sender_text(received.origin);
  log_info(node_.stop_text(received.signal, sender));
  put(SignalReceived{received.signal, std::move(sender), signal_for_workers(received.signal, config_.signals),
                     received.origin == lost_head_sender, received.of_all});
}

SignalWay AgentLoop::way_of(const ReceivedSignal& received) const {
  if (received.sender != guard_) return SignalWay::direct;
  return received.origin == terminal_sender ? SignalWay::terminal : SignalWay::guard;
}

void AgentLoop::warn(int signal) {
  if (workers_.ended()) return log_info("a warning came when the workers had ended: it changes nothing");
  put(Warned{signal});  // before any exit that it causes
  workers_.warn(signal);
  log_info(fmt::format("sent {} to the workers as an early warning: they may save and exit", signal_name(signal)));
}

void AgentLoop::pass_on(int signal) {
  workers_.pass_on(signal);  // workers that are started later are stopped, too
  if (signal != SIGUSR1 && signal != SIGUSR2) return;
  const std::string name = signal_name(signal);
  log_info(started_ && !workers_.after() ? fmt::format("passed {} on to the workers", name)
                                         : fmt::format("received {}, but there is no worker to pass it on to", name));
}

void AgentLoop::worker_exited(LocalRank local_rank, pid_t pid, ExitStatus status) {
  if (watchdog_) watchdog_->forget(pid);
  control_.ended(local_rank, status);
  Failure failure = status.ok() ? Failure() : failure_of_worker(here(), worker(local_rank, pid), status);
  // A worker that was told to end has done so: there is no need to ask why.
  const bool stopped = workers_.told_to_end() && status.kind == ExitStatus::Kind::signalled;
  if (!status.ok() && !stopped)
    return run_in_background(executor_, worker_failed(std::move(failure), status, !workers_.told_to_end()));
  record_.events().worker_exited(local_rank, pid, status, {});
  put(WorkerExited{local_rank, status, std::move(failure)});
  look_for_end();
}

asio::awaitable<void> AgentLoop::worker_failed(Failure failure, ExitStatus status, bool by_itself) {
  const int turn = untold_.begin();
  asio::steady_timer patience(executor_, to_steady(later(now(), desk_.wait_for_same(status))));
  (void)co_await patience.async_wait(as_values);
  failure.what += to_text(cause_of(static_cast<pid_t>(failure.pid), status), status);
  Failure complete = co_await record_.complete(std::move(failure), status);
  co_await untold_.come(turn);  // in the order of their ends: the first one is the cause
  put(WorkerExited{complete.local_rank, status, std::move(complete), by_itself});
  untold_.end(turn);
  look_for_end();
}

bool AgentLoop::timer_expired(const ExpiredTimer& timer) {
  const auto local_rank = workers_.local_rank_of(timer.pid);
  if (!workers_.signal_one(timer.pid, timer.signal)) return false;
  std::string whose = fmt::format("pid {}", timer.pid);
  if (local_rank) whose = fmt::format("rank {} ({})", (round_.assignment.base_global_rank + *local_rank).value, whose);
  log_warning(
      fmt::format("watchdog timer '{}' of {} expired: sending {}", timer.scope, whose, signal_name(timer.signal)));
  if (local_rank) expired_scopes_.emplace(timer.pid, timer.scope);  // the first one is the cause
  return true;
}

void AgentLoop::look_for_end() {
  if (workers_.collect() && untold_.empty()) put(AllGone{});
}

// Does so whatever else is being carried out: after `grace` the other nodes go on, and two rounds must never run at
// once.
asio::awaitable<void> AgentLoop::end_workers_after(Duration grace) {
  const int round = workers_.round();
  asio::steady_timer timer(executor_, to_steady(later(now(), grace)));
  (void)co_await timer.async_wait(as_values);
  if (!started_ || round != workers_.round() || workers_.after()) co_return;  // the command after them may run on
  workers_.signal_all(SIGKILL);
  look_for_end();
}

EndCause AgentLoop::cause_of(pid_t pid, ExitStatus status) {
  EndCause cause;
  if (const auto expired = expired_scopes_.find(pid); expired != expired_scopes_.end())
    cause.expired_timer = expired->second;
  cause.passed_on = status.kind == ExitStatus::Kind::signalled && desk_.has_passed_on(status.value);
  cause.warned =
      desk_.warned() && status == ExitStatus{ExitStatus::Kind::signalled, warning_signal(config_.preemption)};
  MemoryWatch::Evidence memory = memory_.evidence(status == ExitStatus{ExitStatus::Kind::signalled, SIGKILL});
  cause.out_of_memory = memory.of_worker;
  cause.memory = std::move(memory.text);
  return cause;
}

// ---- actions

void AgentLoop::carry_out(const LimitGrace& action) { run_in_background(executor_, end_workers_after(action.grace)); }

void AgentLoop::carry_out(const StartRendezvous& /*action*/) {
  started_ = false;
  record_.events().joining();
}

void AgentLoop::carry_out(AnnounceRound action) {
  pulse_.stop();
  started_ = false;
  record_.events().restarting(action);
  run_in_background(executor_, announce(std::move(action)));
}

asio::awaitable<void> AgentLoop::announce(AnnounceRound action) {
  co_await record_.announce(std::move(action));
  feed(CarriedOut{});
}

void AgentLoop::carry_out(StartWorkers action) {
  pulse_.begin({action.round.longest_stall, action.round.longest_silence}, network_.watch_answers());
  end_progress();
  round_ = std::move(action.round);
  started_ = true;
  stopping_.begin();
  hooks_.forget();
  record_.begin(round_);
  control_.begin();
  expired_scopes_.clear();
  if (watchdog_) watchdog_->begin();
  run_in_background(executor_, start_workers(workers_.begin()));
  memory_.begin();
}

// Why the workers cannot start; empty: they can.
asio::awaitable<std::string> AgentLoop::prepare(JobFolder::Files& files) {
  Status made = record_.folder().begin(files);
  if (made && watchdog_) made = watchdog_->hear();
  if (!made) co_return made.error().message;
  co_return co_await hooks_.before(files);
}

asio::awaitable<void> AgentLoop::run_after_hook(int exit_code) {
  stopping_.begin();
  co_await hooks_.after(exit_code);
  put(HookEnded{!workers_.collect()});
  look_for_end();
}

// Runs beside other actions, because a disk may stall meanwhile, and so may exec.
asio::awaitable<void> AgentLoop::start_workers(int round) {
  JobFolder::Files files = co_await record_.folder().make(executor_, round_);
  co_await control_.opened();  // workers may ask this job
  if (workers_.is_over(round)) co_return;
  const std::string fault = co_await prepare(files);
  if (workers_.is_over(round)) co_return look_for_end();
  if (!fault.empty()) co_return put_first(StartFailed{failure_of_start(here(), fault)});
  const WorkerGroup::OutputCallback output = [this](LocalRank local_rank, const StreamPlan& plan) {
    return record_.folder().streams().output(local_rank, plan);
  };
  const WorkerGroup::StartCallback on_start = [this](LocalRank local_rank, pid_t pid) {
    record_.events().worker_started(local_rank, pid);
  };
  const auto not_started = co_await workers_.start(std::move(files.workers), config_.program.script, output, on_start);
  record_.folder().streams().all_started();
  if (watchdog_) watchdog_->all_started();
  (void)wall_time_text();  // reads the time zone's file once, while nobody waits
  if (!not_started) record_.events().all_started();
  if (!not_started || workers_.is_over(round)) co_return look_for_end();
  put_first(StartFailed{
      failure_of_start(here(), worker(not_started->local_rank, 0), not_started->exit_code, not_started->message)});
}

void AgentLoop::carry_out(const GatherEvidence& action) {
  run_in_background(executor_, gather_evidence(action.stacks));
}

asio::awaitable<void> AgentLoop::gather_evidence(bool stacks) {
  std::vector<Evidence::Worker> workers;
  for (const auto& [local_rank, pid] : workers_.running())
    workers.push_back({round_.assignment.base_global_rank + local_rank, pid, record_.folder().errors_of(local_rank)});
  const Evidence::Send send = [this](pid_t pid, int signal) { return workers_.signal_one(pid, signal); };
  if (!guard_lost_) co_await record_.gather(std::move(workers), stacks, send);
  feed(CarriedOut{});
}

void AgentLoop::carry_out(const SignalWorkers& action) {
  stopping_.tell();
  workers_.signal_all(action.signal);
  record_.events().stopping(action.signal, action.reason);
  look_for_end();
}

void AgentLoop::carry_out(const KillWorkers& /*action*/) {
  if (const auto left = workers_.remaining(); !left.empty()) {
    record_.events().killing(left.size());
    stopping_.tell_kill(left);
  }
  workers_.signal_all(SIGKILL);
  look_for_end();
}

void AgentLoop::carry_out(const EnterBarrier& /*action*/) {
  pulse_.stop();
  take_terminal_back();
  interval_until_ = {};  // the terminal is ours again
  feed(CarriedOut{});
}

void AgentLoop::carry_out(Conclude action) {
  pulse_.stop();
  end_progress();
  run_in_background(executor_, conclude(std::move(action.end)));
}

asio::awaitable<void> AgentLoop::conclude(Finish end) {
  std::string left = end.left_behind ? describe_processes(workers_.remaining()) : "";
  const NodeRank node = std::max(round_.assignment.group_rank, NodeRank(0));
  Account own = co_await record_.conclude(std::move(end), node, std::move(left));
  co_await control_.farewell();
  feed(Concluded{std::move(own)});
}

void AgentLoop::carry_out(Report action) { run_in_background(executor_, report(std::move(action))); }

asio::awaitable<void> AgentLoop::report(Report action) {
  co_await record_.report(std::move(action));
  feed(Reported{});
}

asio::awaitable<void> AgentLoop::leave(int code) {
  co_await record_.leave();
  co_await network_.part();
  co_await control_.closed();
  exit_code_ = exit_code_for_scheduler(config_.preemption, code, desk_.warned());
  if (exit_code_ != code)
    log_info(fmt::format("exit code {} in place of {}: the scheduler should start the job again", *exit_code_, code));
  exited_.cancel();
}

}  // namespace launch

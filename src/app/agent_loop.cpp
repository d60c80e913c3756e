#include "launch/app/agent_loop.hpp"

#include "launch/app/end_report.hpp"
#include "launch/core/agent/agent_settings.hpp"
#include "launch/core/workers/worker_spec.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/files.hpp"
#include "launch/io/guard.hpp"
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

}  // namespace

AgentLoop::AgentLoop(asio::any_io_executor executor, std::shared_ptr<const Config> config, const AgentStart& start)
    : executor_(executor),
      config_(*config),
      signals_(executor, start.signals),
      passed_signals_(start.signals.passed),
      guard_(start.guard),
      agent_(agent_settings(config_)),
      mailbox_(executor, [this](Duration grace) { run_in_background(executor_, end_workers_after(grace)); }),
      pulse_(executor, start.guard, mailbox_),
      session_(executor, config_, mailbox_),
      starter_(executor),
      workers_(executor, starter_, Inheritance{start.signals.reset, start.open_files, config_.pid},
               [this](int local_rank, pid_t pid, ExitStatus status) { worker_exited(local_rank, pid, status); }),
      folder_(starter_, std::move(config)),
      files_(executor),
      events_(config_, executor),
      memory_(executor),
      teller_(executor) {}

asio::awaitable<int> AgentLoop::run() {
  run_in_background(executor_, watch_signals());
  const Status opened = co_await open();
  if (!opened) {
    log_error(opened.error().message);
    events_.not_begun(opened.error());
    co_await events_.flush();
    co_return exit_code(opened.error().code);
  }
  AgentActions actions = agent_.start(now());
  while (!exit_code_) {
    for (AgentAction& action : actions) co_await carry_out(std::move(action));
    if (exit_code_) break;
    count_down();
    const auto event = co_await mailbox_.take(std::min(agent_.deadline(), countdown_ ? countdown_->next() : never));
    actions.clear();
    if (event && teller_.tells() && std::holds_alternative<AllGone>(*event)) {
      co_await teller_.until_told();  // somebody else's failure may have been the first
      mailbox_.put(*event);
    } else if (event) {
      if (const auto* told = std::get_if<PeerFailed>(&*event)) events_.told_of(told->failure);
      actions = agent_.on(*event, now());
    } else if (now() >= agent_.deadline()) {
      actions = agent_.on(DeadlineReached{}, now());
    }
  }
  co_return *exit_code_;
}

void AgentLoop::count_down() {
  if (!agent_.stopping()) return countdown_.reset();
  if (!countdown_) countdown_.emplace(now());
  if (!countdown_->due(now(), progress_interval())) return;
  const std::size_t left = workers_.remaining().size();
  if (left > 0)
    log_progress(fmt::format("stopping: {} left; SIGKILL in {}",
                             left == 1 ? "1 process" : fmt::format("{} processes", left),
                             to_text(agent_.deadline() - now())));
}

// What is wrong with its files is said before others hear of this node. A disk that stalls does not keep it from them.
asio::awaitable<Status> AgentLoop::open() {
  const Time give_up = later(now(), time_to_open);
  Status opened = co_await events_.open(give_up);
  if (opened && !config_.timer_file.empty()) {
    watchdog_.emplace(executor_, [this](const ExpiredTimer& timer) { return timer_expired(timer); });
    opened = co_await watchdog_->open(starter_, config_.timer_file, give_up);
  }
  co_return opened ? session_.open() : opened;
}

// ---- sources of events

asio::awaitable<void> AgentLoop::watch_signals() {
  while (true) {
    const auto received = co_await signals_.next();
    if (!received) co_return;
    const int signal = received->signal;
    if (received->sender == guard_) pulse_.hear();
    if (signal == SIGCHLD) {
      if (started_) look_for_end();
    } else if (signal == guard_gone_signal()) {
      guard_lost_ = true;
      session_.hurry();
      if (evidence_) evidence_->hurry();
      mailbox_.put_first(GuardLost{});
    } else if (!is_new(*received)) {
      continue;
    } else if (std::find(passed_signals_.begin(), passed_signals_.end(), signal) != passed_signals_.end()) {
      pass_on(signal);
    } else if (is_warning(signal)) {
      warn(signal);
    } else {
      if (leaving_) session_.hurry();
      if (evidence_) evidence_->hurry();
      std::string sender = sender_text(received->origin);
      log_info(fmt::format("received {}{}{}, stopping", signal_name(signal), sender.empty() ? "" : " ", sender));
      mailbox_.put(SignalReceived{signal, std::move(sender), signal_for_workers(signal, config_.signals)});
    }
  }
}

bool AgentLoop::is_new(const ReceivedSignal& received) {
  SignalWay way = SignalWay::direct;
  if (received.sender == guard_) way = received.origin == terminal_sender ? SignalWay::terminal : SignalWay::guard;
  return volley_.is_new(received.signal, way, now());
}

// The first of those that end the job; each of others.
bool AgentLoop::is_warning(int signal) const {
  if (signal != config_.preempt_signal || !started_) return false;
  const bool ends = std::find(config_.signals.begin(), config_.signals.end(), signal) != config_.signals.end();
  return !ends || !warned_;
}

void AgentLoop::warn(int signal) {
  warned_ = true;
  mailbox_.put(Warned{signal, round_.may_leave});  // before any end that it brings
  workers_.warn(signal);
  log_info(fmt::format("received {} as an early warning, and passed it on: the workers may save and end",
                       signal_name(signal)));
}

void AgentLoop::pass_on(int signal) {
  workers_.pass_on(signal);  // those that are started later are stopped, too
  if (signal != SIGUSR1 && signal != SIGUSR2) return;
  if (started_) {
    log_info(fmt::format("passed {} on to the workers", signal_name(signal)));
  } else {
    log_info(fmt::format("received {}, but there is no worker to pass it on to", signal_name(signal)));
  }
}

void AgentLoop::worker_exited(int local_rank, pid_t pid, ExitStatus status) {
  if (watchdog_) watchdog_->forget(pid);
  Failure failure = status.ok() ? Failure() : worker_failure(local_rank, pid, status);
  // One that was told to end did so: nobody asks why.
  const bool stopped = workers_.told_to_end() && status.kind == ExitStatus::Kind::signalled;
  if (!status.ok() && !stopped) return run_in_background(executor_, worker_failed(std::move(failure), status));
  events_.worker_exited(local_rank, pid, status, {});
  mailbox_.put(WorkerExited{local_rank, status, std::move(failure)});
  look_for_end();
}

// With what it said in its files, unless their disk stalls.
asio::awaitable<void> AgentLoop::worker_failed(Failure failure, ExitStatus status) {
  ++untold_;
  failure.what += cause_of(static_cast<pid_t>(failure.pid), status);
  const JobFolder::Words words = co_await folder_.words_of(files_, failure.local_rank);
  folder_.complete(failure, words);
  events_.worker_exited(failure.local_rank, static_cast<pid_t>(failure.pid), status, words.error_json);
  mailbox_.put(WorkerExited{failure.local_rank, status, std::move(failure)});
  --untold_;
  look_for_end();
}

bool AgentLoop::timer_expired(const ExpiredTimer& timer) {
  const auto local_rank = workers_.local_rank_of(timer.pid);
  if (!workers_.signal_one(timer.pid, timer.signal)) return false;
  std::string whose = fmt::format("pid {}", timer.pid);
  if (local_rank) whose = fmt::format("rank {} ({})", round_.assignment.base_global_rank + *local_rank, whose);
  log_warning(
      fmt::format("watchdog timer '{}' of {} expired: sending {}", timer.scope, whose, signal_name(timer.signal)));
  if (local_rank) expired_scopes_.emplace(timer.pid, timer.scope);  // the first one is the cause
  return true;
}

void AgentLoop::look_for_end() {
  if (workers_.collect() && untold_ == 0) mailbox_.put(AllGone{});
}

// Whatever is being carried out meanwhile: after that the others go on, and no two rounds may run at once.
asio::awaitable<void> AgentLoop::end_workers_after(Duration grace) {
  const int round = workers_.round();
  asio::steady_timer timer(executor_, to_steady(later(now(), grace)));
  (void)co_await timer.async_wait(as_values);
  if (!started_ || round != workers_.round()) co_return;
  workers_.signal_all(SIGKILL);
  look_for_end();
}

// As the rest of a sentence that says how the worker ended; may be empty.
std::string AgentLoop::cause_of(pid_t pid, ExitStatus status) {
  if (const auto expired = expired_scopes_.find(pid); expired != expired_scopes_.end())
    return fmt::format(", its watchdog timer '{}' had expired", expired->second);
  if (warned_ && status == ExitStatus{ExitStatus::Kind::signalled, config_.preempt_signal})
    return ", the early warning that launch passed on";
  const MemoryWatch::Evidence memory = memory_.evidence(status == ExitStatus{ExitStatus::Kind::signalled, SIGKILL});
  if (memory.of_worker) return ", " + memory.text;
  const std::string_view cause = cause_in_words(status);
  std::string text = cause.empty() ? "" : fmt::format(", {}", cause);
  // A shell gives the end of its child as an exit code of its own, and a worker may die of the loss of a helper.
  if (!memory.text.empty()) text += "; " + memory.text;
  return text;
}

Failure AgentLoop::worker_failure(int local_rank, pid_t pid, ExitStatus status) const {
  Failure failure;
  failure.kind = Failure::Kind::worker;
  failure.exit_code = exit_code(status);
  failure.node_rank = round_.assignment.group_rank;
  failure.host = config_.hostname;
  failure.rank = round_.assignment.base_global_rank + local_rank;
  failure.local_rank = local_rank;
  failure.pid = pid;
  failure.what = to_text(status);
  failure.time = wall_time_text();
  return failure;
}

// ---- actions

asio::awaitable<void> AgentLoop::carry_out(AgentAction action) {
  pulse_.before(action);
  auto task = std::visit([this](auto& one) { return carry_out_one(std::move(one)); }, action);
  co_await std::move(task);
}

asio::awaitable<void> AgentLoop::carry_out_one(StartRendezvous action) {
  started_ = false;
  events_.joining();
  session_.join(action.admits, action.restarts);
  co_return;
}

asio::awaitable<void> AgentLoop::carry_out_one(StopRendezvous /*action*/) {
  session_.stop_joining();
  co_return;
}

asio::awaitable<void> AgentLoop::carry_out_one(AnnounceRound action) {
  started_ = false;
  events_.restarting(action);
  co_await folder_.show_rest();
  co_await keep_evidence();
  evidence_.reset();
  if (action.restart > 0) {
    log_warning(fmt::format("{}; starting all workers anew, {}", action.reason, action.count));
  } else {
    log_info(fmt::format("{}; starting all workers anew", action.reason));
  }
}

asio::awaitable<void> AgentLoop::carry_out_one(StartWorkers action) {
  end_progress();
  round_ = std::move(action.round);
  started_ = formed_ = true;
  events_.rendezvous_formed(round_);
  evidence_.reset();
  expired_scopes_.clear();
  if (watchdog_) watchdog_->begin();
  run_in_background(executor_, start_workers(workers_.begin()));
  memory_.begin();
  co_return;
}

// Beside what else is carried out: a disk may stall meanwhile, and so may exec.
asio::awaitable<void> AgentLoop::start_workers(int round) {
  Failure failure;
  failure.kind = Failure::Kind::start;
  failure.node_rank = round_.assignment.group_rank;
  failure.host = config_.hostname;
  JobFolder::Files files = co_await folder_.make(executor_, round_);
  if (workers_.is_over(round)) co_return;
  Status made = folder_.begin(files);
  if (made && watchdog_) made = watchdog_->hear();
  if (!made) {
    failure.what = made.error().message;
    mailbox_.put_first(StartFailed{failure});
    co_return;
  }
  const WorkerGroup::OutputCallback output = [this](const StreamPlan& plan) { return folder_.streams().output(plan); };
  const WorkerGroup::StartCallback on_start = [this](int rank, pid_t pid) { events_.worker_started(rank, pid); };
  const auto not_started = co_await workers_.start(std::move(files.workers), config_.program.script, output, on_start);
  folder_.streams().all_started();
  if (watchdog_) watchdog_->all_started();
  (void)wall_time_text();  // reads the time zone's file once, while nobody waits
  if (!not_started) events_.all_started();
  if (!not_started || workers_.is_over(round)) co_return look_for_end();
  failure.exit_code = not_started->exit_code;
  failure.local_rank = not_started->local_rank;
  failure.rank = round_.assignment.base_global_rank + not_started->local_rank;
  failure.what = not_started->message;
  failure.time = wall_time_text();
  mailbox_.put_first(StartFailed{failure});
}

asio::awaitable<void> AgentLoop::carry_out_one(GatherEvidence action) {
  if (guard_lost_) co_return;
  std::vector<Evidence::Worker> workers;
  for (const auto& [local_rank, pid] : workers_.running())
    workers.push_back({round_.assignment.base_global_rank + local_rank, pid, folder_.errors_of(local_rank)});
  if (workers.empty()) co_return;
  evidence_.emplace(executor_, starter_, std::move(workers));
  evidence_->take_states();
  if (action.stacks) {
    const Evidence::Send send = [this](pid_t pid, int signal) { return workers_.signal_one(pid, signal); };
    co_await evidence_->take_stacks(config_.worker_env.get("PATH").value_or(""), config_.evidence.stack_signal, send);
  }
}

// Not before the workers were told to end: the folder may be on a disk that does not answer, and so may they.
asio::awaitable<void> AgentLoop::keep_evidence() {
  if (evidence_) co_await folder_.keep_evidence(files_, evidence_->text(), evidence_->has_stacks());
}

asio::awaitable<void> AgentLoop::carry_out_one(SignalWorkers action) {
  workers_.signal_all(action.signal);
  mailbox_.put_first(Signalled{});
  events_.stopping(action.signal, action.reason);
  look_for_end();
  co_return;
}

asio::awaitable<void> AgentLoop::carry_out_one(KillWorkers /*action*/) {
  if (const auto left = workers_.remaining(); !left.empty()) {
    events_.killing(left.size());
    log_warning(fmt::format("still running {} after being told to end: {}; sending SIGKILL",
                            to_text(config_.shutdown_timeout), name_processes(left)));
  }
  workers_.signal_all(SIGKILL);
  look_for_end();
  co_return;
}

asio::awaitable<void> AgentLoop::carry_out_one(TellPeers action) {
  co_await teller_.begin(session_, std::move(action.failure));
}

asio::awaitable<void> AgentLoop::carry_out_one(EnterBarrier /*action*/) {
  take_terminal_back();
  session_.enter_barrier();
  co_return;
}

asio::awaitable<void> AgentLoop::carry_out_one(Finish action) {
  co_await teller_.until_told();
  end_progress();
  co_await folder_.show_rest();
  leaving_ = true;
  co_await keep_evidence();
  if (action.left_behind && !action.first)
    log_error("these processes outlived SIGKILL: " + describe_processes(workers_.remaining()));
  if (action.first) {
    EndFacts facts{action, account(action), round_, formed_};
    co_await report_end(config_, session_, files_, std::move(facts));
  }
  events_.job_ended(action.exit_code, action.first);
  co_await session_.end(action.first.has_value());
  co_await events_.flush();
  co_await folder_.remove_empty();
  exit_code_ = action.exit_code;
}

Account AgentLoop::account(const Finish& end) const {
  const int node = std::max(round_.assignment.group_rank, 0);
  Account own = sum_up(node, end.others);
  if (evidence_) own.places = evidence_->places();
  if (const std::string folder = folder_.kept(); !folder.empty())
    own.logs.push_back(on_node(node, config_.hostname, folder));
  if (end.left_behind) own.left.push_back(on_node(node, config_.hostname, describe_processes(workers_.remaining())));
  return own;
}

}  // namespace launch

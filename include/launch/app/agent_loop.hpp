// One node of the job, from the listener to the exit code: it feeds Node with what happens and carries out what Node
// decides. commands makes and runs it once. It decides nothing about the job itself: Node decides what an event means.
// Whatever may stall (files, exec, names) runs on a thread, so that this loop always turns.
#pragma once

#include "launch/app/control_desk.hpp"
#include "launch/app/hooks.hpp"
#include "launch/app/job_record.hpp"
#include "launch/app/pulse.hpp"
#include "launch/app/session_runner.hpp"
#include "launch/app/stop_progress.hpp"
#include "launch/app/watchdog.hpp"
#include "launch/app/worker_group.hpp"
#include "launch/core/agent/signal_desk.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/node/node.hpp"
#include "launch/core/verdict/end_cause.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/memory_watch.hpp"
#include "launch/io/signals.hpp"
#include "launch/io/turns.hpp"

#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

// What this process was started with.
struct AgentStart {
  const SignalPlan& signals;
  pid_t guard = 0;  // as stand_guard() returned it; 0: no guard
  rlimit open_files{};
};

class AgentLoop {
 public:
  // `config->pid` is the pid of the guard, or of this process if there is no guard. The thread that makes files shares
  // `config` and may still read it after the end of this object.
  AgentLoop(boost::asio::any_io_executor executor, std::shared_ptr<const Config> config, const AgentStart& start);

  // The exit code of launch.
  boost::asio::awaitable<int> run();

 private:
  using Task = boost::asio::awaitable<void>;

  boost::asio::awaitable<Status> open();
  void feed(NodeEvent event);
  void put(AgentEvent event) { feed(FromHost{std::move(event), false}); }
  void put_first(AgentEvent event) { feed(FromHost{std::move(event), true}); }
  Moment moment();
  void set_timer();

  // Sources of events.
  Task watch_signals();
  Task watch_time();
  void take(const ReceivedSignal& received);
  void lose_guard();
  void stop_by(const ReceivedSignal& received);
  void stop_for(pid_t asker) { stop_by({SIGTERM, 0, asker, true}); }
  WorkersAre workers_are() const;
  SignalWay way_of(const ReceivedSignal& received) const;
  void pass_on(int signal);
  void warn(int signal);
  void worker_exited(LocalRank local_rank, pid_t pid, ExitStatus status);
  Task worker_failed(Failure failure, ExitStatus status, bool by_itself);
  bool timer_expired(const ExpiredTimer& timer);
  void look_for_end();
  Task end_workers_after(Duration grace);

  // Actions.
  void carry_out(SessionOpened action) { opened_ = std::move(action.status); }
  void carry_out(const LimitGrace& action);
  void carry_out(const StartRendezvous& action);
  void carry_out(AnnounceRound action);
  void carry_out(StartWorkers action);
  void carry_out(const GatherEvidence& action);
  void carry_out(const SignalWorkers& action);
  void carry_out(const KillWorkers& action);
  void carry_out(const RunAfterHook& action) { run_in_background(executor_, run_after_hook(action.exit_code)); }
  void carry_out(const EnterBarrier& action);
  void carry_out(const Heard& action) { record_.events().told_of(action.failure); }
  void carry_out(const HostMoved& action) { record_.events().host_moved(action); }
  void carry_out(const Asked& action) { control_.take(action); }
  void carry_out(const JobAnswered& action) { control_.take(action); }
  void carry_out(Conclude action);
  void carry_out(Report action);
  void carry_out(const Exit& action) { run_in_background(executor_, leave(action.code)); }
  template <class OfTheNetwork>
  void carry_out(OfTheNetwork action) {
    network_.carry_out(std::move(action));
  }

  Task announce(AnnounceRound action);
  Task start_workers(int round);
  boost::asio::awaitable<std::string> prepare(JobFolder::Files& files);
  Task run_after_hook(int exit_code);
  Task gather_evidence(bool stacks);
  Task conclude(Finish end);
  Task report(Report action);
  Task leave(int code);
  EndCause cause_of(pid_t pid, ExitStatus status);
  FailurePlace here() const { return {round_.assignment.group_rank, config_.hostname}; }
  FailedWorker worker(LocalRank local_rank, pid_t pid) const {
    return {round_.assignment.base_global_rank + local_rank, local_rank, pid, wall_time_text()};
  }

  boost::asio::any_io_executor executor_;
  const Config& config_;
  SignalStream signals_;
  pid_t guard_;
  SignalDesk desk_;
  Node node_;
  Turns untold_;               // failed workers that node_ does not know of yet
  std::deque<NodeEvent> fed_;  // events that came while one was being handled
  bool feeding_ = false;
  boost::asio::steady_timer moment_;
  Time alarm_ = never;  // the time that moment_ is set for
  Duration interval_{};
  Time interval_until_{};  // until when interval_ counts as known
  boost::asio::steady_timer exited_;
  std::optional<Status> opened_;
  Pulse pulse_;
  SessionRunner network_;
  DiskThread starter_;  // separate from others, because the workers die with its thread
  WorkerGroup workers_;
  Hooks hooks_;
  JobRecord record_;
  MemoryWatch memory_;
  std::optional<Watchdog> watchdog_;             // if the user wants one
  std::map<pid_t, std::string> expired_scopes_;  // by worker that was signalled: its timer's scope
  Round round_;
  ControlDesk control_;
  bool started_ = false;  // workers were started; before, no child that ends is ours
  bool guard_lost_ = false;
  StopProgress stopping_;
  std::optional<int> exit_code_;
};

}  // namespace launch

// One node of the job, from the listener to the exit code: feeds Agent with what happens and carries out what it says.
// Made and run once, by commands. It decides nothing about the job: what an event means is Agent's business. Whatever
// may stall (files, exec, names) is given to a thread, so that this loop always turns.
#pragma once

#include "launch/app/event_log.hpp"
#include "launch/app/evidence.hpp"
#include "launch/app/job_folder.hpp"
#include "launch/app/mailbox.hpp"
#include "launch/app/pulse.hpp"
#include "launch/app/session_runner.hpp"
#include "launch/app/teller.hpp"
#include "launch/app/watchdog.hpp"
#include "launch/app/worker_group.hpp"
#include "launch/core/agent/signal_volley.hpp"
#include "launch/core/base/announcer.hpp"
#include "launch/core/config/config.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/memory_watch.hpp"
#include "launch/io/signals.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

// What this process began with.
struct AgentStart {
  const SignalPlan& signals;
  pid_t guard = 0;  // as stand_guard() told
  rlimit open_files{};
};

class AgentLoop {
 public:
  // `config` has the pid that stand_guard() told. It is shared with the thread that makes files, which may still read
  // it after the end of this object.
  AgentLoop(boost::asio::any_io_executor executor, std::shared_ptr<const Config> config, const AgentStart& start);

  // The exit code of launch.
  boost::asio::awaitable<int> run();

 private:
  using Task = boost::asio::awaitable<void>;

  boost::asio::awaitable<Status> open();

  // Sources of events.
  Task watch_signals();
  bool is_new(const ReceivedSignal& received);
  void pass_on(int signal);
  bool is_warning(int signal) const;
  void warn(int signal);
  void count_down();
  void worker_exited(int local_rank, pid_t pid, ExitStatus status);
  Task worker_failed(Failure failure, ExitStatus status);
  bool timer_expired(const ExpiredTimer& timer);
  void look_for_end();
  Task end_workers_after(Duration grace);

  // Actions.
  Task carry_out(AgentAction action);
  Task carry_out_one(StartRendezvous action);
  Task carry_out_one(StopRendezvous action);
  Task carry_out_one(AnnounceRound action);
  Task carry_out_one(StartWorkers action);
  Task carry_out_one(GatherEvidence action);
  Task carry_out_one(SignalWorkers action);
  Task carry_out_one(KillWorkers action);
  Task carry_out_one(TellPeers action);
  Task carry_out_one(EnterBarrier action);
  Task carry_out_one(Finish action);

  Task start_workers(int round);
  Task keep_evidence();
  Account account(const Finish& end) const;
  std::string cause_of(pid_t pid, ExitStatus status);
  Failure worker_failure(int local_rank, pid_t pid, ExitStatus status) const;

  boost::asio::any_io_executor executor_;
  const Config& config_;
  SignalStream signals_;
  std::vector<int> passed_signals_;
  pid_t guard_;
  SignalVolley volley_;
  Agent agent_;
  Mailbox mailbox_;
  Pulse pulse_;
  SessionRunner session_;
  DiskThread starter_;  // apart from others: the workers end with it
  WorkerGroup workers_;
  JobFolder folder_;
  DiskThread files_;  // reads what workers said, and writes what is known of their end
  EventLog events_;
  MemoryWatch memory_;
  Teller teller_;
  std::optional<Evidence> evidence_;             // of the workers that are being ended
  std::optional<Watchdog> watchdog_;             // where the user wants one
  std::map<pid_t, std::string> expired_scopes_;  // of workers that were signalled for it
  Round round_;
  int untold_ = 0;        // workers that have failed, of which the agent has not heard
  bool started_ = false;  // workers: before, what ends is none of ours
  bool formed_ = false;   // a round, so that workers were to start
  bool leaving_ = false;
  bool guard_lost_ = false;
  bool warned_ = false;                 // by the scheduler, and the workers by us
  std::optional<Announcer> countdown_;  // to SIGKILL
  std::optional<int> exit_code_;
};

}  // namespace launch

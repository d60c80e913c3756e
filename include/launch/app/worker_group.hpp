// The workers of this node as processes: starts them, signals them and everything that descends from them, and reports
// when each has ended and when nothing is left. AgentLoop uses it. It decides neither when workers start nor why they
// end.
#pragma once

#include "launch/core/workers/hook.hpp"
#include "launch/core/workers/worker_spec.hpp"
#include "launch/io/cgroup.hpp"
#include "launch/io/child.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/reaper.hpp"
#include "launch/io/stdin_feeder.hpp"
#include "launch/io/worker_start.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

// The state of this process at its start, which every worker gets back.
struct Inheritance {
  std::vector<int> reset_signals;
  rlimit open_files{};
  pid_t owner = 0;            // the process that the shell has in the foreground or background (io/stdin_feeder)
  bool shares_input = false;  // others get the same input at the pace of this node
};

class WorkerGroup {
 public:
  using ExitCallback = std::function<void(LocalRank local_rank, pid_t pid, ExitStatus status)>;
  using OutputCallback = std::function<WorkerOutput(LocalRank local_rank, const StreamPlan& plan)>;
  using StartCallback = std::function<void(LocalRank local_rank, pid_t pid)>;

  // The workers are made on `disk`, which must outlive them, and on threads beside it.
  WorkerGroup(boost::asio::any_io_executor executor, DiskThread& disk, Inheritance inheritance, ExitCallback on_exit);

  // Must come before all else for new workers. Returns their round, which is over when a signal goes to all.
  int begin();
  bool is_over(int round) const { return round != round_ || stopped_ || after_; }
  int round() const { return round_; }
  // They are gone, and what runs now comes after them.
  bool after() const { return after_; }
  // The workers of the attempt before this one.
  const std::vector<pid_t>& last_pids() const { return last_pids_; }
  // A signal has been sent to all.
  bool told_to_end() const { return stopped_; }

  // Stops at the first worker that cannot be started, or when a signal goes to all; the workers before that one run.
  // The end of a worker is not reported before all have been started, unless a signal goes to all.
  boost::asio::awaitable<std::optional<WorkerNotStarted>> start(std::vector<WorkerSpec> specs, std::string script,
                                                                OutputCallback output, StartCallback on_start);

  // Runs a command of the user before the first worker is started, or, after begin_after(), when none is left. Its
  // processes count as those of the workers: signals to all reach them, and collect() waits for them. It is killed with
  // its process group at the limit. `request` lacks its streams; `output` is for both of them. If a signal goes to all
  // before it has been made, it is not started.
  boost::asio::awaitable<HookEnd> run_hook(SpawnRequest request, Fd output, HookTimes times);
  // The workers of this round are gone; signals that went to all of them do not concern what runs after them.
  void begin_after();

  // Of a child that launch has made for itself.
  void disregard(pid_t pid) { reaper_.disregard(pid); }
  void forget_stranger(pid_t pid) { reaper_.forget_stranger(pid); }

  void signal_all(int signal);
  // A signal that comes before all have been started still reaches all. Those for workers reach nothing after them.
  void pass_on(int signal);
  void warn(int signal);
  bool signal_one(pid_t pid, int signal) const { return reaper_.signal_one(pid, signal); }
  // The local rank of a worker that runs; nullopt if `pid` is not one.
  std::optional<LocalRank> local_rank_of(pid_t pid) const;
  // To be called after SIGCHLD, an exit, a signal or a start. True when no process of this group is left and none is
  // being made.
  bool collect() { return !start_ && !hook_start_ && reaper_.collect(); }
  // Local rank and pid of each worker that has not ended.
  std::vector<std::pair<LocalRank, pid_t>> running() const;
  // All that were made have ended.
  bool ended() const { return !starting_ && running().empty(); }
  std::vector<pid_t> remaining() const { return reaper_.remaining(); }

 private:
  void leave_spent_cgroup();
  void need_cgroup();
  boost::asio::awaitable<HookEnd> await_hook(Spawned spawned, HookTimes times);
  boost::asio::awaitable<std::optional<WorkerNotStarted>> make_all(std::vector<WorkerSpec> specs, std::string script,
                                                                   OutputCallback output);
  boost::asio::awaitable<std::vector<Fd>> open_inputs(std::size_t count);
  Result<WorkerOutput> source(WorkerInput input, std::vector<Fd>& copies);
  WorkerStart::Worker plan(WorkerSpec spec, const std::string& script, const OutputCallback& output);
  void take_made();
  void await_end(std::size_t local_rank);

  boost::asio::any_io_executor executor_;
  DiskThread& disk_;
  Inheritance inheritance_;
  ExitCallback on_exit_;
  std::shared_ptr<SpawnCrew> crew_;
  Reaper reaper_;
  std::unique_ptr<WorkerCgroup> cgroup_;       // of this round, and also of the next one unless it was killed
  std::unique_ptr<WorkerCgroup> last_cgroup_;  // the one that was killed; it is removed when there is time
  std::optional<StdinFeeder> feeder_;          // from the first worker on that gets a copy of the input
  int round_ = 0;
  bool stopped_ = false;                     // a signal went to all of this round
  bool after_ = false;                       // what runs now comes after the workers of this round
  bool starting_ = false;                    // not all workers of this round have been made
  std::vector<int> passed_, warnings_;       // signals that came while starting_
  std::shared_ptr<WorkerStart> start_;       // while workers are being made
  std::shared_ptr<WorkerStart> hook_start_;  // while a command of the user is being made
  StartCallback on_start_;
  std::vector<std::unique_ptr<Child>> children_;  // by local rank
  std::vector<pid_t> last_pids_;
};

}  // namespace launch

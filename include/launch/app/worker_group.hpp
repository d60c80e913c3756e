// The workers of this node as processes: starts them in order of local rank, signals them and everything that descends
// from them, and tells when each has ended and when nothing is left.
#pragma once

#include "launch/core/worker_spec.hpp"
#include "launch/io/cgroup.hpp"
#include "launch/io/child.hpp"
#include "launch/io/reaper.hpp"
#include "launch/io/stdin_feeder.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

// What every worker gets back of this process as it was at its start.
struct Inheritance {
  std::vector<int> reset_signals;
  rlimit open_files{};
  pid_t owner = 0;  // that process is in the foreground of its terminal or not (io/stdin_feeder)
};

struct WorkerNotStarted {
  int local_rank = 0;
  int exit_code = 126;
  std::string message;
};

class WorkerGroup {
 public:
  using ExitCallback = std::function<void(int local_rank, pid_t pid, ExitStatus status)>;
  // What a worker's stream writes to; an empty Fd is launch's own.
  using OpenCallback = std::function<Result<Fd>(const StreamPlan& plan)>;
  using StartCallback = std::function<void(int local_rank, pid_t pid)>;

  WorkerGroup(boost::asio::any_io_executor executor, Inheritance inheritance, ExitCallback on_exit);

  // Stops at the first worker that cannot be started; those before it run.
  std::optional<WorkerNotStarted> start(std::vector<WorkerSpec> specs, const std::string& script,
                                        const OpenCallback& open, const StartCallback& on_start);

  void signal_all(int signal);
  void pass_on(int signal) { reaper_.pass_on(signal); }
  void warn(int signal) const { reaper_.warn(signal); }
  bool signal_one(pid_t pid, int signal) const { return reaper_.signal_one(pid, signal); }
  // Of a worker that runs.
  std::optional<int> local_rank_of(pid_t pid) const;
  // After SIGCHLD, an exit or a signal: true when no process of this group is left.
  bool collect() { return reaper_.collect(); }
  // Local rank and pid of each worker that has not ended.
  std::vector<std::pair<int, pid_t>> running() const;
  std::vector<pid_t> remaining() const { return reaper_.remaining(); }

 private:
  Result<Fd> open_source(WorkerInput input);

  boost::asio::any_io_executor executor_;
  Inheritance inheritance_;
  ExitCallback on_exit_;
  Reaper reaper_;
  std::optional<WorkerCgroup> cgroup_;  // from the first start on
  std::optional<StdinFeeder> feeder_;   // from the first worker on that has a copy of the input
  std::vector<std::unique_ptr<Child>> children_;
};

}  // namespace launch

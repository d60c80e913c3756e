// Runs the user's commands around the workers of this node: --before-workers and --after-workers; before a restart also
// lets it wait for memory of GPUs (gpu_wait). AgentLoop says when;
// core/workers/hook says what is executed and what its end means. What they write is shown among launch's messages, and
// goes to a file beside the workers' output if that is kept. Their processes count as those of the workers
// (worker_group). A failure is returned or logged as text. It never changes what happens to the job.
#pragma once

#include "launch/app/gpu_wait.hpp"
#include "launch/app/job_folder.hpp"
#include "launch/app/worker_group.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/workers/hook.hpp"
#include "launch/io/disk_thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <vector>

namespace launch {

class Hooks {
 public:
  Hooks(boost::asio::any_io_executor executor, const Config& config, WorkerGroup& workers);

  // A round begins: the files of its attempt are not there yet, and there is nothing to run after it.
  void forget() { begun_ = false; }
  // Why the workers cannot start; empty: they can, or a signal has gone to all meanwhile.
  boost::asio::awaitable<std::string> before(const JobFolder::Files& files);
  // Does nothing if before() was not called in this round.
  boost::asio::awaitable<void> after(int exit_code);

 private:
  boost::asio::awaitable<std::string> run(HookSpec spec);
  void show(HookMoment moment, std::string_view line) const;

  boost::asio::any_io_executor executor_;
  const Config& config_;
  WorkerGroup& workers_;
  DiskThread disk_;  // for the files of their output; its thread is there only if one is written
  GpuWait gpus_;
  bool begun_ = false;
  std::vector<std::string> env_;  // of local rank 0 in this attempt
  std::string folder_;            // of the attempt, if it keeps output
};

}  // namespace launch

// Makes the workers of a round, one after the other, on a thread that may wait for a disk (io/disk_thread): exec reads
// the program from wherever it is, and the files of the workers' output may be there, too.
//
// The owner takes what has been made when the job has ended, and before, when it wants to know. While the job takes its
// time, the owner is called to do so: for each worker alone, that would cost more than the worker.
#pragma once

#include "launch/app/log_streams.hpp"
#include "launch/core/workers/worker_spec.hpp"
#include "launch/io/spawn.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace launch {

struct WorkerNotStarted {
  LocalRank local_rank{};
  int exit_code = 126;
  std::string message;
};

class WorkerStart {
 public:
  struct Worker {
    LocalRank local_rank{};
    SpawnRequest request;  // but for its streams
    WorkerOutput in, out, err;
  };
  struct Made {
    LocalRank local_rank{};
    Spawned spawned;
  };

  // `on_made` is called on the executor.
  WorkerStart(boost::asio::any_io_executor executor, std::function<void()> on_made)
      : executor_(std::move(executor)), on_made_(std::move(on_made)) {}

  void add(Worker worker) { workers_.push_back(std::move(worker)); }
  // The job. Stops at the first worker that cannot be made; those before it run.
  std::optional<WorkerNotStarted> make_all();
  // In their order, each once. For any thread.
  std::vector<Made> take();
  // No further worker is made; the one that is being made may still come. For any thread.
  void stop() { stopped_ = true; }

 private:
  std::optional<WorkerNotStarted> make(Worker& worker);

  boost::asio::any_io_executor executor_;
  std::function<void()> on_made_;
  std::vector<Worker> workers_;
  std::mutex mutex_;
  std::vector<Made> made_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace launch

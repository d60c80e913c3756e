// Makes the workers of a round, one after the other, on a thread that may wait for a disk (io/disk_thread): exec reads
// the program from a disk, and the files of the workers' output may be on one, too.
//
// app/worker_group takes the workers that have been made when make_all() has ended, or earlier if it wants to know. If
// make_all() takes long, it calls the owner now and then to take them. A call for each worker would cost more than the
// worker.
#pragma once

#include "launch/core/job/rank.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/spawn.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace launch {

// What a worker's stream is connected to: `open`, or otherwise the file `path`, which is opened later. Neither:
// launch's own stream.
struct WorkerOutput {
  Fd open;
  std::string path;
};

struct WorkerNotStarted {
  LocalRank local_rank{};
  int exit_code = 126;
  std::string message;
};

class WorkerStart {
 public:
  struct Worker {
    LocalRank local_rank{};
    SpawnRequest request;  // except its streams
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
  // The job for the thread. Stops at the first worker that cannot be made; the workers before it run.
  std::optional<WorkerNotStarted> make_all();
  // Returns each worker once, in the order in which they were made. Any thread may call it.
  std::vector<Made> take();
  // No further worker is made, but the one that is being made may still appear. Any thread may call it.
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

// Makes the workers of a round on a thread that may wait for a disk (io/disk_thread), since exec reads the program from
// a disk, and the files of the workers' output may be on one, too. If there are many, others help it (io/spawn_crew).
//
// app/worker_group takes the workers that have been made when make_all() has ended, or earlier if it wants to know. If
// make_all() takes long, it calls the owner now and then to take them. A call for each worker would cost more than the
// worker. Workers begin in about the order in which they were added, and are handed out in just that order.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/job/rank.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/spawn.hpp"
#include "launch/io/spawn_crew.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
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

// Lives in a shared pointer, because a helper may come when all is done.
class WorkerStart : public std::enable_shared_from_this<WorkerStart> {
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
  WorkerStart(boost::asio::any_io_executor executor, std::shared_ptr<SpawnCrew> crew, std::function<void()> on_made)
      : executor_(std::move(executor)), crew_(std::move(crew)), on_made_(std::move(on_made)) {}

  void add(Worker worker) { workers_.push_back(std::move(worker)); }
  // The job for the thread. Returns the first worker that cannot be made; the workers before it run, and none after it.
  std::optional<WorkerNotStarted> make_all();
  // Returns each worker once, in the order in which they were added: those before the first that is still being made.
  // Any thread may call it.
  std::vector<Made> take();
  // No further worker is made, but those that are being made may still appear. Any thread may call it.
  void stop();

 private:
  void help(std::size_t member);
  bool make_next(std::size_t member);
  boost::system::result<Made, WorkerNotStarted> make(Worker& worker, const std::shared_ptr<StreamSlots>& slots);
  void keep(std::size_t number, boost::system::result<Made, WorkerNotStarted> made);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<SpawnCrew> crew_;
  std::function<void()> on_made_;
  std::vector<Worker> workers_;  // each is of the thread that took its number
  std::mutex mutex_;             // of all below
  std::condition_variable ended_;
  std::size_t next_ = 0;   // the number of the next worker to be made
  std::size_t taken_ = 0;  // how many were handed out
  int helping_ = 0;        // threads beside that of make_all()
  bool over_ = false;      // for helpers that come now
  bool stopped_ = false;
  Time told_{};
  std::vector<std::optional<Made>> made_;  // by number
  std::optional<WorkerNotStarted> failed_;
  std::size_t failed_number_ = 0;
};

}  // namespace launch

// The folder of this node's part of the job: the files of the workers' output and errors, what the console shows of
// them, and what they tell about a failure. Used by AgentLoop. Nothing here blocks the loop, unless the folder is in
// memory.
#pragma once

#include "launch/app/log_streams.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/verdict/last_words.hpp"
#include "launch/core/workers/worker_spec.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/error_folder.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class JobFolder {
 public:
  // All that may wait for a disk is done on `disk`, which must outlive this.
  JobFolder(DiskThread& disk, std::shared_ptr<const Config> config) : disk_(disk), config_(std::move(config)) {}

  // What the next attempt of the workers needs, and why it could not be had.
  struct Files {
    Status made;
    std::string attempt;     // the folder; empty: the user wants none
    bool keeps = false;      // output of workers
    bool in_memory = false;  // the folder, and nothing of it is elsewhere
    std::vector<WorkerSpec> workers;
    std::shared_ptr<LogStreams> streams;  // where each of their streams goes
  };
  boost::asio::awaitable<Files> make(boost::asio::any_io_executor executor, const Round& round);
  // They are used from now on.
  Status begin(Files& files);
  // Empty before begin(), and when the user wants none (--log-dir=/dev/null).
  const std::string& attempt() const { return attempt_; }

  // The attempt's folder where it holds what workers wrote; empty: it does not.
  std::string kept() const { return keeps_ ? attempt() : std::string(); }
  // Where a worker's errors go; empty: to the console.
  std::string errors_of(LocalRank local_rank) const;
  // Beside the logs, where there are any, or when it is `precious`; written on `disk`.
  boost::asio::awaitable<void> keep_evidence(DiskThread& disk, std::string text, bool precious);

  LogStreams& streams() { return *streams_; }
  // When nobody writes any more.
  boost::asio::awaitable<void> show_rest();

  // What the worker said, read on `disk`; only what is known already if that takes long.
  boost::asio::awaitable<LastWords> words_of(DiskThread& disk, LocalRank local_rank);
  // Hands a failure up to whoever started launch, by the error file that they named.
  static void tell_parent(const std::string& parent_error_file, const Failure& first);
  // What no worker has written to goes, unless the file system does not answer soon.
  boost::asio::awaitable<void> remove_empty();

 private:
  struct Making;

  struct WorkerFiles {
    std::string error_file;
    WorkerLogs logs;
  };

  static LastWords read_words(LastWords known, const std::string& errors, const std::string& log);

  DiskThread& disk_;
  std::shared_ptr<const Config> config_;  // shared with the thread of `disk_`, which may outlive this
  std::shared_ptr<ErrorFolder> folder_ = std::make_shared<ErrorFolder>();  // for the thread, unless it is in memory
  bool used_ = false;                                                      // something may be in it
  std::string place_, attempt_;
  bool keeps_ = false;                // something for the user: output of workers, evidence
  bool in_memory_ = false;            // so that no disk can stall what is done there, and no thread is needed for it
  std::vector<WorkerFiles> workers_;  // by local rank
  std::shared_ptr<LogStreams> streams_;
  bool told_of_silence_ = false;  // that words could not be read
};

}  // namespace launch

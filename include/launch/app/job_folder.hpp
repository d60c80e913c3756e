// The folder of this node's part of the job: the files of the workers' output and errors, what the console shows of
// them, and what they tell about a failure. AgentLoop uses it. Nothing here blocks the loop, unless the folder is in
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
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class JobFolder {
 public:
  // Work that may wait for a disk is done on `disk`, which must outlive this object.
  JobFolder(DiskThread& disk, std::shared_ptr<const Config> config)
      : disk_(disk),
        config_(std::move(config)),
        // Without a folder the choice has no effect, as with torchrun.
        shown_(std::make_shared<ShownRanks>(
            config_->nproc_per_node, config_->log_folder == "/dev/null" ? std::set<int>() : config_->logs.shown)) {}

  // The workers' output is counted there, if it passes through launch. Must be called before make().
  void count_into(std::shared_ptr<OutputTally> tally) { tally_ = std::move(tally); }

  // What the next attempt of the workers needs. `made` says why, if some of it could not be made.
  struct Files {
    Status made;
    std::string attempt;     // its folder; empty: the user wants none
    bool keeps = false;      // the folder holds output of workers
    bool in_memory = false;  // the folder is, and none of its files is elsewhere
    std::vector<WorkerSpec> workers;
    std::shared_ptr<LogStreams> streams;  // where each of their streams goes
  };
  boost::asio::awaitable<Files> make(boost::asio::any_io_executor executor, const Round& round);
  // Uses `files` from now on.
  Status begin(Files& files);
  // The folder of the attempt; empty before begin(), and if the user wants none (--log-dir=/dev/null).
  const std::string& attempt() const { return attempt_; }

  // The folder of the attempt, if it holds workers' output or evidence; otherwise empty.
  std::string kept() const { return keeps_ ? attempt() : std::string(); }
  // The file of a worker's standard error; empty: it goes to the console.
  std::string errors_of(LocalRank local_rank) const;
  // The files that its output goes to; none: it goes to the console.
  std::vector<std::string> files_of(LocalRank local_rank) const;
  // When the parts of one of them were written; null: the worker writes it itself.
  std::shared_ptr<const FileTimes> times_of(const std::string& file) const {
    return streams_ ? streams_->times_of(file) : nullptr;
  }
  // Writes the text beside the logs, on `disk`, if there are logs or if the text is `precious`.
  boost::asio::awaitable<void> keep_evidence(DiskThread& disk, std::string text, bool precious);

  LogStreams& streams() { return *streams_; }
  // The console shows only these workers from now on, and those of later attempts; none: all. False: their standard
  // output goes to the console without launch.
  bool show_only(const std::set<int>& local_ranks);
  // The step of each worker, as far as it is known (--progress).
  std::vector<RankProgress> progress() const;
  // When a worker last wrote something that passed launch; nullopt: that is not known.
  std::optional<Time> heard_at() const;
  // Shows the rest of the workers' output. To be called when nobody writes any more.
  boost::asio::awaitable<void> show_rest(Duration most, Duration most_in_files);
  // Makes show_rest() return soon.
  void hurry() {
    if (streams_) streams_->hurry();
  }

  // The worker's last words, read on `disk`. If that takes too long, only what is known already.
  boost::asio::awaitable<LastWords> words_of(DiskThread& disk, LocalRank local_rank);
  // Passes a failure on to the process that started launch, through the error file that it named.
  static void tell_parent(const std::string& parent_error_file, const Failure& first);
  // Removes folders that are empty, unless the file system does not answer soon.
  boost::asio::awaitable<void> remove_empty();

 private:
  struct Making;

  struct WorkerFiles {
    std::string error_file;
    WorkerLogs logs;
  };

  static LastWords read_words(LastWords known, const std::string& log, const std::string& output);

  DiskThread& disk_;
  std::shared_ptr<const Config> config_;  // shared with the thread of `disk_`, which may outlive this object
  std::shared_ptr<ErrorFolder> folder_ = std::make_shared<ErrorFolder>();  // the thread uses it, unless it is in memory
  bool used_ = false;                                                      // folder_ may hold something
  std::string place_, attempt_;
  bool keeps_ = false;                // the folder has output of workers or evidence for the user
  bool in_memory_ = false;            // the folder is: no disk can stall work on it, so it needs no thread
  std::vector<WorkerFiles> workers_;  // by local rank
  std::shared_ptr<LogStreams> streams_;
  std::shared_ptr<OutputTally> tally_;
  std::shared_ptr<ShownRanks> shown_;
  bool told_where_ = false;       // the user was told where output is kept
  bool told_of_silence_ = false;  // the user was told that last words could not be read
};

}  // namespace launch

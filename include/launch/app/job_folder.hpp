// The folder of this node's part of the job: the files of the workers' output and errors, what the console shows of
// them, and what they tell about a failure.
#pragma once

#include "launch/app/log_streams.hpp"
#include "launch/core/config.hpp"
#include "launch/core/failure_report.hpp"
#include "launch/core/worker_spec.hpp"
#include "launch/io/error_folder.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <vector>

namespace launch {

class JobFolder {
 public:
  // For the next attempt of the workers.
  Status make(const Config& config);
  // Empty when the user wants none (--log-dir=/dev/null).
  const std::string& attempt() const { return folder_.attempt(); }

  // The attempt's folder where it holds what workers wrote; empty: it does not.
  std::string kept() const { return keeps_ ? attempt() : std::string(); }
  // Where a worker's errors go; empty: to the console.
  std::string errors_of(int local_rank) const;
  // Beside the logs, where there are any, or when it is `precious`.
  void keep_evidence(const std::string& text, bool precious);

  // Before the workers start: where each of their streams goes.
  Status open_streams(boost::asio::any_io_executor executor, const Config& config, const Round& round,
                      const std::vector<WorkerSpec>& workers);
  LogStreams& streams() { return *streams_; }
  // When nobody writes any more.
  boost::asio::awaitable<void> show_rest();

  // What the worker said in its error.json; empty where there is none.
  std::string error_json(int local_rank) const;
  // Adds what the worker said in its error file, and where its output is.
  void complete(Failure& failure) const;
  // Hands a failure up to whoever started launch, by the error file that they named.
  static void tell_parent(const std::string& parent_error_file, const Failure& first);
  void remove_empty() { folder_.remove_empty(); }

 private:
  struct WorkerFiles {
    std::string error_file;
    WorkerLogs logs;
  };

  ErrorFolder folder_;
  bool keeps_ = false;                // something for the user: output of workers, evidence
  std::vector<WorkerFiles> workers_;  // by local rank
  std::optional<LogStreams> streams_;
};

}  // namespace launch

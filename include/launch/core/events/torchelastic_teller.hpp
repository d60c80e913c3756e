// What torchrun's agent reports about a job on one node, and when: `--event-log-handler console`. app/event_log tells
// it what happens, and writes the lines that it returns. It remembers what torchrun's events repeat of earlier ones; it
// knows no clock and writes nothing. The order, and which event counts as a success, are those of torchrun 2.13.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/events/torchelastic_event.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace launch {

class TorchelasticTeller {
 public:
  using Lines = std::vector<std::string>;

  explicit TorchelasticTeller(TorchelasticContext context) : context_(std::move(context)) {}

  Lines formed(const Round& round, Duration took);
  // Called in the order of local ranks.
  void worker_started(int pid) { workers_.push_back({pid, std::nullopt, {}}); }
  Lines all_started() const;
  // `error_json`: what a worker that failed has written there.
  void worker_exited(LocalRank local_rank, ExitStatus status, std::string error_json);
  // `total_run_time`: of the job on this node, in seconds. `first`: its first failure, if it failed.
  Lines ended(const std::optional<Failure>& first, int total_run_time) const;

 private:
  struct Worker {
    int pid = 0;
    std::optional<ExitStatus> status;
    std::string error_json;
  };

  std::string line(TorchelasticEvent event) const;
  std::string duration_line(std::string_view state, Duration took) const;
  std::string end_line(LocalRank local_rank, bool good, int total_run_time) const;
  TorchelasticWorker worker(LocalRank local_rank) const;

  TorchelasticContext context_;
  int restarts_ = 0;
  std::optional<Assignment> ranks_;  // of the last round
  std::vector<Worker> workers_;      // of this round, by local rank
  bool traits_ = false;              // as in torchelastic_raw_error()
};

}  // namespace launch

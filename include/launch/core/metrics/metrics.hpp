// What this node counts of its part of a job, for --metrics and --metrics-file. app/metrics_desk feeds it with the
// job's events, and core/metrics/metrics_text writes it for Prometheus. Nothing is read here: times come in as values.
// It decides nothing about the job.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/events/event_record.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/metrics/histogram.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace launch {

struct Metrics {
  enum class Phase {
    meeting,
    starting,
    running,
    restarting,
    over
  };
  enum class WorkerState {
    not_started,
    running,
    ended,
    failed
  };

  struct Worker {
    WorkerState state = WorkerState::not_started;
    Time started{};
    ExitStatus status{};  // if it has ended or failed
  };

  // ---- who reports; set once
  std::string run_id, host, version;
  std::optional<NodeRank> node_rank;  // nullopt: the rendezvous has not assigned it

  // ---- now
  Phase phase = Phase::meeting;
  std::vector<Worker> workers;  // by local rank, of the round
  Round round;                  // none has been formed as long as it has no nodes
  std::optional<int> exit_code;

  // ---- since launch was started
  std::uint64_t restarts_after_failure = 0, restarts_by_membership = 0;
  std::uint64_t hangs = 0;                         // that this node has told of
  std::uint64_t nodes_joined = 0, nodes_left = 0;  // from one round to the next
  std::map<std::pair<ExitStatus::Kind, int>, std::uint64_t> exits;
  // From the end of the last worker of a round until all workers of the next one have been started.
  Histogram recovery{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600};
  std::optional<Time> last_end;    // of a worker of this round
  std::optional<Time> down_since;  // if a restart is under way

  int count(WorkerState state) const;
};

// Metrics of a node with `nproc` workers, before anything has happened.
Metrics new_metrics(std::string run_id, std::string host, int nproc);

// Takes an event into account that has just happened.
void count(Metrics& metrics, const JobEvent& event, Time now);

// Whether all workers of this node run; if not, a sentence that says why.
struct Readiness {
  bool ready = false;
  std::string text;
};
Readiness readiness(const Metrics& metrics);

}  // namespace launch

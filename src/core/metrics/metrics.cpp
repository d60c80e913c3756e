#include "launch/core/metrics/metrics.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace launch {
namespace {

using Phase = Metrics::Phase;
using WorkerState = Metrics::WorkerState;

struct Counting {
  Metrics& metrics;
  Time now;

  void operator()(const JobStarted& event) const { metrics.version = event.version; }

  void operator()(const RendezvousFormed& event) const {
    const int before = metrics.round.assignment.group_world_size;
    const int after = event.round.assignment.group_world_size;
    if (before > 0 && after > before) metrics.nodes_joined += static_cast<std::uint64_t>(after - before);
    if (before > after) metrics.nodes_left += static_cast<std::uint64_t>(before - after);
    metrics.round = event.round;
    metrics.node_rank = event.round.assignment.group_rank;
    metrics.phase = Phase::starting;
    metrics.last_end.reset();
    std::fill(metrics.workers.begin(), metrics.workers.end(), Metrics::Worker());
  }

  void operator()(const WorkerStarted& event) const {
    metrics.workers.at(event.local_rank.index()) = {WorkerState::running, now, {}};
    if (metrics.count(WorkerState::not_started) > 0) return;
    metrics.phase = Phase::running;
    if (metrics.down_since) metrics.recovery.observe(now - *metrics.down_since);
    metrics.down_since.reset();
  }

  void operator()(const WorkerOver& event) const {
    Metrics::Worker& worker = metrics.workers.at(event.worker.local_rank.index());
    worker.state = event.status.ok() ? WorkerState::ended : WorkerState::failed;
    worker.status = event.status;
    ++metrics.exits[{event.status.kind, event.status.value}];
    metrics.last_end = now;
  }

  void operator()(const Restarting& event) const {
    if (event.asked) {
      ++metrics.restarts_asked;
    } else {
      ++(event.number > 0 ? metrics.restarts_after_failure : metrics.restarts_by_membership);
    }
    metrics.phase = Phase::restarting;
    metrics.down_since = metrics.last_end.value_or(now);
  }

  void operator()(const JobEnded& event) const {
    metrics.exit_code = event.exit_code;
    metrics.phase = Phase::over;
  }

  void operator()(const Hanging& /*event*/) const { ++metrics.hangs; }

  void operator()(const Stopping& /*event*/) const {}
  void operator()(const Killing& /*event*/) const {}
  void operator()(const PeerFailure& /*event*/) const {}
  void operator()(const UserAsked& /*event*/) const {}
  void operator()(const HostChange& /*event*/) const {}
  void operator()(const Progressed& /*event*/) const {}
  void operator()(const StartedUp& /*event*/) const {}
};

std::string why_workers_do_not_run(const Metrics& metrics) {
  const int failed = metrics.count(WorkerState::failed);
  const int ended = metrics.count(WorkerState::ended);
  if (metrics.phase == Phase::starting)
    return fmt::format("{} of {} have been started", metrics.count(WorkerState::running),
                       counted(static_cast<std::int64_t>(metrics.workers.size()), "worker"));
  for (std::size_t rank = 0; rank < metrics.workers.size(); ++rank)
    if (const Metrics::Worker& worker = metrics.workers[rank]; worker.state == WorkerState::failed)
      return fmt::format("{} of this node failed, first of all local rank {} with {}", counted(failed, "worker"), rank,
                         to_text(worker.status));
  return fmt::format("{} of {} ended well", ended,
                     counted(static_cast<std::int64_t>(metrics.workers.size()), "worker"));
}

}  // namespace

int Metrics::count(WorkerState state) const {
  return static_cast<int>(
      std::count_if(workers.begin(), workers.end(), [state](const Worker& worker) { return worker.state == state; }));
}

Metrics new_metrics(std::string run_id, std::string host, int nproc) {
  Metrics metrics;
  metrics.run_id = std::move(run_id);
  metrics.host = std::move(host);
  metrics.workers.resize(static_cast<std::size_t>(nproc));
  return metrics;
}

void count(Metrics& metrics, const JobEvent& event, Time now) { std::visit(Counting{metrics, now}, event); }

Readiness readiness(const Metrics& metrics) {
  switch (metrics.phase) {
    case Phase::meeting:
      return {false, "the workers have not been started: this node is looking for the other nodes"};
    case Phase::restarting:
      return {false, "all workers are being restarted"};
    case Phase::over:
      return {false, fmt::format("the job has ended with exit code {}", metrics.exit_code.value_or(0))};
    case Phase::starting:
    case Phase::running:
      break;
  }
  if (metrics.count(WorkerState::running) == static_cast<int>(metrics.workers.size()))
    return {true,
            fmt::format("{} of this node {}", counted(static_cast<std::int64_t>(metrics.workers.size()), "worker"),
                        metrics.workers.size() == 1 ? "runs" : "run")};
  return {false, why_workers_do_not_run(metrics)};
}

}  // namespace launch

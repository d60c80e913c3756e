#include "launch/core/events/torchelastic_teller.hpp"

#include <chrono>

namespace launch {

// torchrun reports these with the ranks of the round before, since it assigns the new ones later.
TorchelasticTeller::Lines TorchelasticTeller::formed(const Round& round, Duration took) {
  restarts_ = round.restarts;
  Lines lines = {duration_line("RENDEZVOUS", took), duration_line("ASSIGN_WORKER_RANKS", Duration())};
  ranks_ = round.assignment;
  workers_.clear();
  return lines;
}

TorchelasticTeller::Lines TorchelasticTeller::all_started() const {
  Lines lines;
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    TorchelasticEvent event;
    event.state = "START";
    event.worker = worker(LocalRank(static_cast<int>(rank)));
    lines.push_back(line(std::move(event)));
  }
  return lines;
}

void TorchelasticTeller::worker_exited(LocalRank local_rank, ExitStatus status, std::string error_json) {
  Worker& worker = workers_.at(local_rank.index());
  worker.status = status;
  if (status.ok()) return;
  worker.error_json = std::move(error_json);
  if (worker.error_json.empty() && status.kind == ExitStatus::Kind::exited) traits_ = true;
}

// torchrun's agent reports a success for itself even if a worker failed: it has seen that failure.
TorchelasticTeller::Lines TorchelasticTeller::ended(const std::optional<Failure>& first, int total_run_time) const {
  const bool seen = !first || (first->kind == Failure::Kind::worker && ranks_);
  Lines lines;
  for (std::size_t rank = 0; seen && rank < workers_.size(); ++rank)
    lines.push_back(end_line(LocalRank(static_cast<int>(rank)), !first, total_run_time));
  TorchelasticEvent end;
  end.state = seen ? "SUCCEEDED" : "FAILED";
  end.total_run_time = total_run_time;
  if (!seen) end.raw_error = describe(*first);
  lines.push_back(line(std::move(end)));
  return lines;
}

std::string TorchelasticTeller::end_line(LocalRank local_rank, bool good, int total_run_time) const {
  const Worker& ended = workers_[local_rank.index()];
  const bool failed = ended.status && !ended.status->ok();
  TorchelasticEvent event;
  event.state = good ? "SUCCEEDED" : failed ? "FAILED" : "TERMINATED";
  event.worker = worker(local_rank);
  event.total_run_time = total_run_time;
  if (failed && !good) {
    const bool signalled = ended.status->kind == ExitStatus::Kind::signalled;
    event.worker->failed_with = signalled ? -ended.status->value : ended.status->value;
    event.raw_error = torchelastic_raw_error(ended.error_json, traits_);
  }
  return line(std::move(event));
}

std::string TorchelasticTeller::duration_line(std::string_view state, Duration took) const {
  TorchelasticEvent event;
  event.state = state;
  event.duration_ms = std::chrono::duration<double, std::milli>(took).count();
  return line(std::move(event));
}

std::string TorchelasticTeller::line(TorchelasticEvent event) const {
  event.agent_restarts = restarts_;
  if (ranks_) {
    event.group_rank = ranks_->group_rank;
    event.group_world_size = ranks_->group_world_size;
  }
  return torchelastic_line(context_, event);
}

TorchelasticWorker TorchelasticTeller::worker(LocalRank local_rank) const {
  TorchelasticWorker worker;
  worker.global_rank = ranks_->base_global_rank + local_rank;
  worker.local_rank = local_rank;
  worker.role_rank = ranks_->base_role_rank + local_rank.value;
  worker.role_world_size = ranks_->role_world_size;
  worker.pid = workers_[local_rank.index()].pid;
  return worker;
}

}  // namespace launch

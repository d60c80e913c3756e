#include "launch/app/event_log.hpp"

#include "launch/io/clock.hpp"

#include <chrono>
#include <utility>

namespace launch {

namespace {

constexpr Duration time_for_events = std::chrono::seconds(5);

}  // namespace

EventLog::EventLog(const Config& config, boost::asio::any_io_executor executor)
    : config_(config), disk_(std::move(executor)) {
  context_ = {config.run_id, std::nullopt, config.hostname, 0};
  if (!config.elastic) context_.node_rank = config.node_rank;
  torchelastic_context_ = {config.run_id, config.role, config.hostname, config.events.backend,
                           config.events.entry_point};
}

boost::asio::awaitable<Status> EventLog::open(Time give_up) {
  began_ = now();
  if (!config_.events.file.empty()) {
    auto sink = co_await EventSink::open(config_.events.file, disk_, give_up);
    if (!sink) co_return sink.error();
    own_ = std::move(*sink);
  }
  if (config_.events.torchelastic) torchelastic_ = EventSink::standard_error();
  const ProgramCommand& program = config_.program;
  tell(JobStarted{LAUNCH_VERSION, program.name, program.argv, config_.nnodes, config_.nproc_per_node});
  co_return Status();
}

void EventLog::not_begun(const Error& error) {
  if (!on()) return;
  const Failure failure = failure_of_rendezvous({context_.node_rank.value_or(-1), context_.host}, error);
  job_ended(failure.exit_code, failure);
}

void EventLog::joining() { joined_ = now(); }

void EventLog::rendezvous_formed(const Round& round) {
  if (!on()) return;
  const Duration took = now() - joined_;
  context_.restart = round.restarts;
  // torchrun tells with the ranks of the round before: the new ones are given out later there.
  tell_duration("RENDEZVOUS", took);
  tell_duration("ASSIGN_WORKER_RANKS", Duration());
  ranks_ = round.assignment;
  workers_.clear();
  context_.node_rank = round.assignment.group_rank;
  tell(RendezvousFormed{round, took});
}

void EventLog::worker_started(int local_rank, pid_t pid) {
  if (!on()) return;
  workers_.push_back({pid, now(), std::nullopt, {}});
  tell(WorkerStarted{ranks_->base_global_rank + local_rank, local_rank, pid});
}

void EventLog::all_started() {
  if (!torchelastic_.takes()) return;
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    TorchelasticEvent event;
    event.state = "START";
    event.worker = as_torchelastic(rank);
    tell_torchelastic(std::move(event));
  }
}

void EventLog::worker_exited(int local_rank, pid_t pid, ExitStatus status, const std::string& error_json) {
  if (!on()) return;
  Worker& worker = workers_.at(static_cast<std::size_t>(local_rank));
  tell(WorkerOver{{ranks_->base_global_rank + local_rank, local_rank, pid}, status, now() - worker.started});
  worker.status = status;
  if (!torchelastic_.takes() || status.ok()) return;
  worker.error_json = error_json;
  if (worker.error_json.empty() && status.kind == ExitStatus::Kind::exited) traits_ = true;
}

void EventLog::stopping(int signal, const std::string& reason) {
  if (!reason.empty()) tell(Stopping{signal, reason});
}

void EventLog::killing(std::size_t processes) { tell(Killing{processes}); }

void EventLog::restarting(const AnnounceRound& action) { tell(Restarting{action.reason, action.restart}); }

void EventLog::told_of(const Failure& failure) {
  const bool own = failure.node_rank == context_.node_rank.value_or(-1) && failure.host == context_.host;
  if (!own) tell(PeerFailure{failure});
}

void EventLog::job_ended(int exit_code, const std::optional<Failure>& first) {
  if (!on()) return;
  tell(JobEnded{exit_code, first});
  TorchelasticEvent end;
  end.total_run_time = static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(now() - began_).count());
  // To torchrun's agent a worker's failure is a success: it has seen it.
  const bool seen = !first || (first->kind == Failure::Kind::worker && ranks_);
  if (seen) tell_ends(!first, end.total_run_time);
  end.state = seen ? "SUCCEEDED" : "FAILED";
  if (!seen) end.raw_error = describe(*first);
  tell_torchelastic(std::move(end));
}

boost::asio::awaitable<void> EventLog::flush() { co_await own_.flush(later(now(), time_for_events)); }

void EventLog::tell(const JobEvent& event) {
  if (own_.takes()) own_.write(to_json_line(context_, instant(), event));
}

void EventLog::tell_torchelastic(TorchelasticEvent event) {
  if (!torchelastic_.takes()) return;
  event.agent_restarts = context_.restart;
  if (ranks_) {
    event.group_rank = ranks_->group_rank;
    event.group_world_size = ranks_->group_world_size;
  }
  torchelastic_.write(torchelastic_line(torchelastic_context_, event));
}

void EventLog::tell_duration(std::string_view state, Duration took) {
  TorchelasticEvent event;
  event.state = state;
  event.duration_ms = std::chrono::duration<double, std::milli>(took).count();
  tell_torchelastic(std::move(event));
}

TorchelasticWorker EventLog::as_torchelastic(std::size_t local_rank) const {
  const int rank = static_cast<int>(local_rank);
  return {ranks_->base_global_rank + rank, rank,        ranks_->base_role_rank + rank, ranks_->role_world_size,
          workers_[local_rank].pid,        std::nullopt};
}

void EventLog::tell_ends(bool good, int total_run_time) {
  if (!torchelastic_.takes()) return;
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    const Worker& worker = workers_[rank];
    const bool failed = worker.status && !worker.status->ok();
    TorchelasticEvent event;
    event.state = good ? "SUCCEEDED" : failed ? "FAILED" : "TERMINATED";
    event.worker = as_torchelastic(rank);
    event.total_run_time = total_run_time;
    if (failed && !good) {
      const bool signalled = worker.status->kind == ExitStatus::Kind::signalled;
      event.worker->failed_with = signalled ? -worker.status->value : worker.status->value;
      event.raw_error = torchelastic_raw_error(worker.error_json, traits_);
    }
    tell_torchelastic(std::move(event));
  }
}

}  // namespace launch

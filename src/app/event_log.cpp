#include "launch/app/event_log.hpp"

#include "launch/core/events/event_text.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"

#include <chrono>
#include <utility>

namespace launch {

namespace {

constexpr Duration time_for_events = std::chrono::seconds(5);

}  // namespace

EventLog::EventLog(const Config& config, boost::asio::any_io_executor executor)
    : config_(config), disk_(std::move(executor)), context_{config.run_id, std::nullopt, config.hostname, 0} {
  if (config.node_rank().known()) context_.node_rank = config.node_rank();
}

boost::asio::awaitable<Status> EventLog::open(Time give_up) {
  began_ = now();
  if (!config_.events.file.empty()) {
    auto sink = co_await EventSink::open(config_.events.file, disk_, give_up);
    if (!sink) co_return sink.error();
    own_ = std::move(*sink);
  }
  const ProgramCommand& program = config_.program;
  tell(JobStarted{LAUNCH_VERSION, program.name, program.argv, config_.nnodes(), config_.nproc_per_node});
  if (config_.events.torchelastic) {
    torchelastic_ = EventSink::standard_error();
    teller_.emplace(TorchelasticContext{config_.run_id, config_.role, config_.hostname, config_.events.backend,
                                        config_.events.entry_point});
  }
  co_return Status();
}

void EventLog::not_begun(const Error& error) {
  const Failure failure = failure_of_rendezvous({context_.node_rank.value_or(NodeRank::none()), context_.host}, error);
  job_ended(failure.exit_code, failure);
}

void EventLog::joining() { joined_ = now(); }

void EventLog::rendezvous_formed(const Round& round) {
  const Duration took = now() - joined_;
  context_.restart = round.restarts;
  context_.node_rank = round.assignment.group_rank;
  base_rank_ = round.assignment.base_global_rank;
  started_.clear();
  if (teller_) tell_torchelastic(teller_->formed(round, took));
  tell(RendezvousFormed{round, took});
}

void EventLog::worker_started(LocalRank local_rank, pid_t pid) {
  started_.push_back({now(), pid});
  if (teller_) teller_->worker_started(pid);
  tell(WorkerStarted{base_rank_ + local_rank, local_rank, pid});
}

void EventLog::all_started() {
  if (teller_) tell_torchelastic(teller_->all_started());
}

void EventLog::worker_exited(LocalRank local_rank, pid_t pid, ExitStatus status, const std::string& error_json) {
  const Duration ran = now() - started_.at(local_rank.index()).at;
  tell(WorkerOver{{base_rank_ + local_rank, local_rank, pid}, status, ran});
  if (teller_) teller_->worker_exited(local_rank, status, error_json);
}

void EventLog::stopping(int signal, const std::string& reason) {
  if (!reason.empty()) tell(Stopping{signal, reason});
}

void EventLog::killing(std::size_t processes) { tell(Killing{processes}); }

void EventLog::restarting(const AnnounceRound& action) {
  tell(Restarting{action.reason, action.restart, action.asked});
}

void EventLog::told_of(const Failure& failure) {
  const bool own = failure.node_rank == context_.node_rank.value_or(NodeRank::none()) && failure.host == context_.host;
  if (!own) tell(PeerFailure{failure});
}

void EventLog::user_asked(const std::string& what, const std::string& by) { tell(UserAsked{what, by}); }

void EventLog::job_ended(int exit_code, const std::optional<Failure>& first) {
  tell(JobEnded{exit_code, first});
  const auto ran = std::chrono::duration_cast<std::chrono::seconds>(now() - began_);
  if (teller_) tell_torchelastic(teller_->ended(first, static_cast<int>(ran.count())));
}

boost::asio::awaitable<void> EventLog::flush() { co_await own_.flush(later(now(), time_for_events)); }

void EventLog::tell(const JobEvent& event) {
  if (hear_) hear_(event);
  if (own_.takes()) own_.write(to_json_line(context_, instant(), event));
  if (config_.verbosity != Verbosity::verbose) return;
  if (const std::string text = to_text(event); !text.empty()) log_detail(text);
}

void EventLog::tell_torchelastic(const TorchelasticTeller::Lines& lines) {
  for (const std::string& line : lines) torchelastic_.write(line);
}

}  // namespace launch

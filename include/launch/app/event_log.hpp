// Tells what happens on this node to machines: our lines (--events) and torchrun's (--event-log-handler console).
//
// AgentLoop calls it with each fact. If nobody asked for events, nothing is written.
#pragma once

#include "launch/core/agent/agent.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/events/event_record.hpp"
#include "launch/core/events/torchelastic_teller.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/event_sink.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <sys/types.h>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class EventLog {
 public:
  // `config` must outlive it.
  EventLog(const Config& config, boost::asio::any_io_executor executor);

  // Before anything else happens. An error has code usage. A disk that stalls is waited for until `give_up`.
  boost::asio::awaitable<Status> open(Time give_up);
  // The rendezvous could not be opened, and nothing more happens.
  void not_begun(const Error& error);

  void joining();
  void rendezvous_formed(const Round& round);
  void worker_started(LocalRank local_rank, pid_t pid);
  void all_started();
  // `error_json`: what a worker that failed has left there.
  void worker_exited(LocalRank local_rank, pid_t pid, ExitStatus status, const std::string& error_json);
  void stopping(int signal, const std::string& reason);
  void killing(std::size_t processes);
  void restarting(const AnnounceRound& action);
  // The job's first failure, which may be our own.
  void told_of(const Failure& failure);
  void job_ended(int exit_code, const std::optional<Failure>& first);
  // Until all is written, or the disk has not answered for long, which is told.
  boost::asio::awaitable<void> flush();

 private:
  void tell(const JobEvent& event);
  void tell_torchelastic(const TorchelasticTeller::Lines& lines);

  const Config& config_;
  DiskThread disk_;
  EventSink own_, torchelastic_;
  EventContext context_;
  std::optional<TorchelasticTeller> teller_;  // if it is asked for
  GlobalRank base_rank_;                      // of this node's workers
  std::vector<Time> started_;                 // by local rank, the workers of this round
  Time began_{}, joined_{};
};

}  // namespace launch

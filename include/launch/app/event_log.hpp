// Reports what happens on this node as lines for machines: our own (--events), and torchrun's (--event-log-handler
// console).
//
// AgentLoop calls it with each fact. It writes nothing unless the user asked for events. One listener,
// which counts them, may hear them, too.
#pragma once

#include "launch/core/agent/agent.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/events/event_record.hpp"
#include "launch/core/events/torchelastic_teller.hpp"
#include "launch/core/session/session_action.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/event_sink.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <sys/types.h>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class EventLog {
 public:
  // `config` must outlive it.
  EventLog(const Config& config, boost::asio::any_io_executor executor);

  // `hear` is called with each event. To be set before open().
  void set_listener(std::function<void(const JobEvent&)> hear) { hear_ = std::move(hear); }
  // Must be called first. An error has code usage. Waits for a disk that stalls until `give_up`.
  boost::asio::awaitable<Status> open(Time give_up);
  // The rendezvous could not be opened, and nothing more happens.
  void not_begun(const Error& error);

  void joining();
  void rendezvous_formed(const Round& round);
  void worker_started(LocalRank local_rank, pid_t pid);
  // The workers of this round that were started, by local rank.
  struct Started {
    Time at{};
    pid_t pid = 0;
  };
  const std::vector<Started>& started() const { return started_; }
  void all_started();
  // `error_json`: the content of the error file of a worker that failed.
  void worker_exited(LocalRank local_rank, pid_t pid, ExitStatus status, const std::string& error_json);
  void stopping(int signal, const std::string& reason);
  void killing(std::size_t processes);
  void restarting(const AnnounceRound& action);
  void hangs(Duration quiet, std::vector<std::string> places) { tell(Hanging{quiet, std::move(places)}); }
  void host_moved(const HostMoved& moved) { tell(HostChange{moved.from, moved.to, moved.term, to_text(moved.at)}); }
  void progressed(const Progressed& progress) { tell(progress); }
  void started_up(const StartedUp& startup) { tell(startup); }
  // The job's first failure. Nothing is written if it is of this node.
  void told_of(const Failure& failure);
  // False: nobody would see an event.
  bool told() const { return own_.takes() || config_.verbosity == Verbosity::verbose; }
  void user_asked(const std::string& what, const std::string& by);
  void job_ended(int exit_code, const std::optional<Failure>& first);
  // Waits until all is written, or until the disk has not answered for 5 s; then it warns of the loss.
  boost::asio::awaitable<void> flush();

 private:
  void tell(const JobEvent& event);
  void tell_torchelastic(const TorchelasticTeller::Lines& lines);

  const Config& config_;
  std::function<void(const JobEvent&)> hear_;  // if somebody listens
  DiskThread disk_;
  EventSink own_, torchelastic_;
  EventContext context_;
  std::optional<TorchelasticTeller> teller_;  // if the user asked for torchrun's events
  GlobalRank base_rank_;                      // of this node's first worker
  std::vector<Started> started_;
  Time began_{}, joined_{};
};

}  // namespace launch

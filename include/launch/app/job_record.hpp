// What this node keeps and reports of a job: the folder of the workers' files, the events, the metrics, the evidence
// after a failure, and the final report to the user. AgentLoop owns it for the life of the process. It decides neither
// what happens nor when, and leaves whatever may stall to a thread.
#pragma once

#include "launch/app/event_log.hpp"
#include "launch/app/evidence.hpp"
#include "launch/app/job_folder.hpp"
#include "launch/app/metrics_desk.hpp"
#include "launch/app/progress_teller.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/node/node.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/driver_log.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class JobRecord {
 public:
  using Task = boost::asio::awaitable<void>;

  // `starter` makes files and processes; it must outlive the object.
  JobRecord(boost::asio::any_io_executor executor, std::shared_ptr<const Config> config, DiskThread& starter);

  EventLog& events() { return events_; }
  JobFolder& folder() { return folder_; }
  const MetricsDesk& metrics() const { return metrics_; }
  // When each worker wrote something that passed launch, at least for the first time.
  const OutputTally& outputs() const { return *outputs_; }

  // Must be called first. An error has code usage. Waits for a disk that stalls until `give_up`.
  boost::asio::awaitable<Status> open(Time give_up);

  // New workers will be started.
  void begin(const Round& round);
  // Adds to `failure` what the failed worker said in its files, unless their disk stalls, and what the driver of the
  // GPUs has reported; and reports its end as an event.
  boost::asio::awaitable<Failure> complete(Failure failure, ExitStatus status);
  // Gathers evidence of what the workers are doing, before they are told to end.
  Task gather(std::vector<Evidence::Worker> workers, bool stacks, Evidence::Send send);
  // Makes gather() return soon, and whatever shows the workers' output. `for_good`: later, too, nobody waits for that.
  void hurry(bool for_good);
  // Shows the workers' output to its end, and says why all workers will be restarted.
  Task announce(AnnounceRound action);
  // At the end of the job: shows their output to its end, and returns this node's account. `left`: processes that
  // outlived SIGKILL, as text.
  boost::asio::awaitable<Account> conclude(Finish end, NodeRank node, std::string left);
  Task report(Report report);
  // Writes what can still be written, and removes empty folders.
  Task leave();

 private:
  // `precious`: also if nothing else is kept.
  Task keep_evidence(bool precious);
  boost::asio::awaitable<std::string> look_for_module(std::string module);
  // Empty: it has reported nothing, or that cannot be known.
  boost::asio::awaitable<std::string> driver_report(XidReader reader);
  // What the workers did, or what their flight recorders and that of the first failure say.
  boost::asio::awaitable<std::vector<RankGroup>> states_and_records(GlobalRank first);
  // Adds those of these workers whose own error is a time-out or a closed connection. None if a disk stalls.
  boost::asio::awaitable<Account> with_waiters(Account own, Finish end);

  boost::asio::any_io_executor executor_;
  const Config& config_;
  DiskThread& starter_;
  JobFolder folder_;
  // Each may be on another disk, and the one that stalls holds up no other one.
  DiskThread files_;    // reads what workers said, and writes what they did
  DiskThread records_;  // reads what others have noted: the driver, flight recorders, which modules there are
  DiskThread parent_;   // tells the parent
  DiskThread reports_;  // writes the report
  EventLog events_;
  MetricsDesk metrics_;
  ProgressTeller progress_;
  std::shared_ptr<OutputTally> outputs_;
  std::shared_ptr<DriverLog> driver_log_;    // of this attempt; shared with the thread of records_
  Duration time_to_show_ = Duration::max();  // at the end of an attempt
  WallTime began_{};                         // when the last workers were about to start
  std::optional<Evidence> evidence_;         // about the workers that are being ended
};

}  // namespace launch

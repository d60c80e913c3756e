// What is kept and told of a job on this node: the folder of the workers' files, the events, the evidence after a
// failure, and the last word to the user. Owned by AgentLoop, for the life of the process. It decides neither what
// happens nor when; what may stall is left to a thread.
#pragma once

#include "launch/app/event_log.hpp"
#include "launch/app/evidence.hpp"
#include "launch/app/job_folder.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/node/node.hpp"
#include "launch/io/disk_thread.hpp"

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

  // New workers will be started.
  void begin(const Round& round);
  // How a worker ended that failed, with what it said in its files, unless their disk stalls.
  boost::asio::awaitable<Failure> complete(Failure failure, ExitStatus status);
  // Of what workers are at, before they are told to end.
  Task gather(std::vector<Evidence::Worker> workers, bool stacks, Evidence::Send send);
  // gather() must return soon.
  void hurry();
  // Their output is shown to its end, and why others will be started is said.
  Task announce(AnnounceRound action);
  // The same at the end of the job; `left`: processes that outlived SIGKILL, as text.
  boost::asio::awaitable<Account> conclude(Finish end, NodeRank node, std::string left);
  Task report(Report report);
  // All that can be written is.
  Task leave();

 private:
  Task keep_evidence();

  boost::asio::any_io_executor executor_;
  const Config& config_;
  DiskThread& starter_;
  JobFolder folder_;
  DiskThread files_;  // reads what workers said, and writes what is known of their end
  EventLog events_;
  std::optional<Evidence> evidence_;  // of the workers that are being ended
};

}  // namespace launch

// Tells of the workers' steps (--progress): in an event every minute, if they have changed, and in what launch-ctl
// hears of each worker. JobRecord owns it for the life of the process. Without --progress it does nothing, and wakes
// nobody. It decides nothing about the job.
#pragma once

#include "launch/app/event_log.hpp"
#include "launch/app/job_folder.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/control/node_report.hpp"
#include "launch/core/progress/progress_watch.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <optional>
#include <vector>

namespace launch {

class ProgressTeller {
 public:
  // Both outlive it.
  ProgressTeller(boost::asio::any_io_executor executor, const JobFolder& folder, EventLog& events);

  // Workers are about to be started.
  void begin();
  // An event, if a step has changed since the last one. To be called when the workers have ended, too.
  void tell();

 private:
  boost::asio::awaitable<void> tell_each_minute();

  boost::asio::any_io_executor executor_;
  const JobFolder& folder_;
  EventLog& events_;
  boost::asio::steady_timer timer_;
  bool begun_ = false;
  std::optional<ProgressSum> told_;
};

// Adds what is known of the steps of these workers.
void add_progress(NodeReport& report, const std::vector<RankProgress>& progress, Time now);

}  // namespace launch

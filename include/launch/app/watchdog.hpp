// Torchrun's watchdog: hears through a pipe which timers the workers set, and reports when one has expired.
//
// It uses the wall clock, because workers name points of that clock. It polls nothing; but while there are timers, it
// looks again every few seconds, in case somebody has set the clock.
#pragma once

#include "launch/core/agent/watchdog_timers.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/timer_pipe.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace launch {

class Watchdog {
 public:
  // Returns false if that is not a process of the job.
  using ExpiryCallback = std::function<bool(const ExpiredTimer& timer)>;

  Watchdog(boost::asio::any_io_executor executor, ExpiryCallback on_expired);

  // Makes the pipe on `disk`. If that has not happened by `give_up`, it may still happen later.
  boost::asio::awaitable<Status> open(DiskThread& disk, std::string path, Time give_up);
  // Must be called before new workers start: the timers that the old ones have set no longer count.
  void begin();
  // Begins to read the pipe. To be called when all work that was given to the disk before is done.
  Status hear();
  // All workers have been started. No timer expires before that, because it is not yet known whose timer it is.
  void all_started();
  void forget(int pid) { timers_.forget(pid); }

 private:
  boost::asio::awaitable<void> hear_requests();
  boost::asio::awaitable<void> wait_for_expiry();
  void take(const std::string& line);
  void tell_expired();
  void set_alarm();
  void complain(const std::string& what);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<std::optional<Result<TimerPipe>>> opened_;  // where the disk's thread leaves the open pipe
  std::optional<TimerPipe> pipe_;
  ExpiryCallback on_expired_;
  WatchdogTimers timers_;
  boost::asio::steady_timer alarm_;
  bool starting_ = false;
  int complaints_left_ = 10;
};

}  // namespace launch

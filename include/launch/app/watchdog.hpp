// Torchrun's watchdog: hears through a pipe which timers the workers set, and tells when one has expired.
//
// By the wall clock, since that is what workers name. Nothing is polled; only while there are timers it looks again
// every few seconds, in case somebody has set the clock.
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
  // False: that is no process of the job.
  using ExpiryCallback = std::function<bool(const ExpiredTimer& timer)>;

  Watchdog(boost::asio::any_io_executor executor, ExpiryCallback on_expired);

  // Makes the pipe on `disk`. If that has not happened at `give_up`, it may still happen later.
  boost::asio::awaitable<Status> open(DiskThread& disk, std::string path, Time give_up);
  // Before new workers: what the old ones have set counts no more.
  void begin();
  // When all that was given to the disk before is done.
  Status hear();
  // Until then it is not known whose timer has expired.
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
  std::shared_ptr<std::optional<Result<TimerPipe>>> opened_;  // for the disk's thread, until it has done that
  std::optional<TimerPipe> pipe_;
  ExpiryCallback on_expired_;
  WatchdogTimers timers_;
  boost::asio::steady_timer alarm_;
  bool starting_ = false;
  int complaints_left_ = 10;
};

}  // namespace launch

// One worker process that was spawned: its exit awaited by pidfd, its end decoded once. The only place that reads
// siginfo. It sends no signal: that is reaper's and guard's. Its callback runs on the loop, once. The end of a process
// that was not spawned here is not its business.
#pragma once

#include "launch/core/job/job.hpp"
#include "launch/io/spawn.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>
#include <functional>

namespace launch {

// What waitid() told of a process that has ended.
ExitStatus exit_status_of(const siginfo_t& info);

class Child {
 public:
  Child(const boost::asio::any_io_executor& executor, Spawned spawned);

  pid_t pid() const { return pid_; }
  bool ended() const { return ended_; }

  // Calls back once, with the decoded end, after the process has been reaped. The child must outlive the wait. Of one
  // that another part of this program has reaped nothing is known: its end is told as exit code 255.
  void on_exit(std::function<void(ExitStatus)> callback);

 private:
  void collect(std::function<void(ExitStatus)> callback);

  pid_t pid_;
  bool ended_ = false;
  boost::asio::posix::stream_descriptor pidfd_;
  boost::asio::steady_timer patience_;
};

}  // namespace launch

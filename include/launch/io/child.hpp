// One worker process that was spawned: waits for its exit through a pidfd, and decodes its end once. If the kernel has
// no pidfd that can be waited for, it asks every 50 ms. Exit statuses are read from siginfo only here. It sends no
// signal: reaper and guard do that. Its callback runs on the loop, once. It does not handle the end of a process that
// was not spawned here.
#pragma once

#include "launch/core/job/job.hpp"
#include "launch/io/spawn.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>
#include <functional>

namespace launch {

// The exit status of a process that has ended, from what waitid() has told.
ExitStatus exit_status_of(const siginfo_t& info);

class Child {
 public:
  Child(const boost::asio::any_io_executor& executor, Spawned spawned);

  pid_t pid() const { return pid_; }
  bool ended() const { return ended_; }

  // Calls back once, with the exit status, after the process has been reaped. The Child must outlive the wait. If
  // another part of this program has reaped the process, nothing is known of its end; it is reported as exit code 255.
  void on_exit(std::function<void(ExitStatus)> callback);

 private:
  void collect(std::function<void(ExitStatus)> callback);
  void ask_later(std::function<void(ExitStatus)> callback);

  pid_t pid_;
  bool ended_ = false;
  boost::asio::posix::stream_descriptor pidfd_;
  boost::asio::steady_timer patience_;
};

}  // namespace launch

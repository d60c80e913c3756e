// Lines on their way to a console that may be slow, written without waiting by the one thread of control: for a
// process that must go on hearing others meanwhile. What is not taken at once is kept, all of it and in order; whoever
// fills the queue asks `held()` and stops filling while it is too much, and hears by `on_less` when it is less. Used
// by the head of launch --hosts. A console whose reader has gone takes everything, and nobody sees it. What may block,
// as a file does whose file system stalls, is written on a thread. No flag that others see is changed. The program must
// ignore SIGPIPE.
#pragma once

#include "launch/io/disk_thread.hpp"
#include "launch/io/outlet.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace launch {

class ConsoleQueue {
 public:
  // `fd` stays the caller's. This object must outlive all that runs on the executor.
  ConsoleQueue(const boost::asio::any_io_executor& executor, int fd, std::function<void()> on_less);

  void write(std::string_view lines);
  std::size_t held() const { return held_.size() - written_ + being_written_; }
  // Bytes since the beginning: what write() got, and what of it is no longer held.
  std::uint64_t given() const { return given_; }
  std::uint64_t taken() const { return given_ - held(); }
  // Why something was dropped that a reader would have seen, as errno has it: a file that is full. 0: nothing was.
  int refused() const { return refused_; }
  // Until all is written, or nothing was for so long.
  boost::asio::awaitable<void> drained(Duration patience);

 private:
  bool push();
  boost::asio::awaitable<void> write_later();
  boost::asio::awaitable<void> write_on_thread();

  boost::asio::any_io_executor executor_;
  std::function<void()> on_less_;
  std::shared_ptr<Outlet> outlet_;  // shared with the thread
  bool terminal_;
  DiskThread disk_;
  boost::asio::posix::stream_descriptor watched_;  // the same file as the outlet's, to wait for it, if that is possible
  boost::asio::steady_timer empty_, pause_;
  std::string held_;
  std::size_t written_ = 0;        // of held_
  std::size_t being_written_ = 0;  // on the thread, and not in held_ any more
  std::uint64_t given_ = 0;
  int refused_ = 0;
  bool writing_ = false;
};

}  // namespace launch

// The named pipe through which workers set watchdog timers: made for the job, read line by line, removed at the end.
//
// It is open for both reading and writing here, so that it has no end when a worker closes it, and a worker that
// opens it never has to wait.
#pragma once

#include "launch/core/base/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace launch {

class TimerPipe {
 public:
  static constexpr std::size_t longest_line = 4096;  // as many bytes as a pipe takes in one piece

  // A file of that name is removed first. Any thread may call it, because `path` may be on a disk that stalls.
  static Result<TimerPipe> open(const boost::asio::any_io_executor& executor, const std::string& path);

  TimerPipe(TimerPipe&& other) noexcept;
  TimerPipe& operator=(TimerPipe&& other) noexcept;
  ~TimerPipe();

  // The next line, without its end. Lines that are too long are left out, with one warning for all. nullopt: nothing
  // can be read.
  boost::asio::awaitable<std::optional<std::string>> next_line();

 private:
  class Name;

  TimerPipe(std::unique_ptr<Name> name, boost::asio::posix::stream_descriptor fd);
  std::optional<std::string> take_line();
  void limit_rest();

  std::unique_ptr<Name> name_;
  boost::asio::posix::stream_descriptor fd_;
  std::string held_;       // what was read but not yet returned
  bool skipping_ = false;  // up to the next end of a line
  bool complained_ = false;
};

}  // namespace launch

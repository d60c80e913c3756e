// The standard input of `launch --hosts`, read for the workers that get it. app/head_run has one, starts it when the
// nodes run, and says when more may be read. Nothing is read that nobody wants, except 128 KiB at most which are on
// their way. A regular file is opened again, so that the position that others share, such as the shell that runs this
// line in a loop, does not move. From a terminal nothing is read while this process is in the background there, and it
// is not stopped. What cannot be read is a warning, and counts as the end. Decides nothing.
#pragma once

#include "launch/io/fd.hpp"
#include "launch/io/stdin_feeder.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <optional>
#include <string>

namespace launch {

struct InputHandlers {
  std::function<bool()> wants_more;
  // Empty: the end.
  std::function<void(std::string bytes)> on_bytes;
};

class TypedInput {
 public:
  // This object must outlive all that runs on the executor.
  TypedInput(const boost::asio::any_io_executor& executor, InputHandlers handlers);

  // wants_more() may have another answer now. The first time that it is true, the input is opened.
  void look();

 private:
  bool open();
  boost::asio::awaitable<void> read();

  boost::asio::any_io_executor executor_;
  InputHandlers handlers_;
  Fd own_;  // a regular file, opened again
  std::optional<StdinFeeder> feeder_;
  boost::asio::posix::stream_descriptor bytes_;
  boost::asio::steady_timer gate_;
  bool opened_ = false;
};

}  // namespace launch

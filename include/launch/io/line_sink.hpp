// Lines on their way to a console, in batches of whole lines that nobody who shares the console can tear: a pipe takes
// PIPE_BUF bytes at once, or many more while it is nearly empty; a terminal or a file takes any number. A line longer
// than PIPE_BUF may be torn on a pipe that is nearly full. Blocks as long as the console does; when nobody reads any
// more, or its disk is full, lines go nowhere.
#pragma once

#include "launch/io/message_console.hpp"

#include <cstddef>
#include <string>

namespace launch {

class LineSink {
 public:
  // Makes a pipe larger where that is allowed. `messages`: what else launch writes there if it is a terminal.
  explicit LineSink(int fd, MessageConsole& messages = message_console());

  // `fill` appends one line, its end included, to the text it is given.
  template <class Fill>
  void take(const Fill& fill) {
    fill(batch_);
    if (batch_.size() >= enough) write();
  }
  void write();

 private:
  static constexpr std::size_t enough = std::size_t{64} * 1024;

  bool takes_all() const;
  void write_batch();

  int fd_;
  MessageConsole& messages_;
  bool shared_;  // with the messages
  int capacity_ = 0;  // of the pipe; 0: it is none
  std::string batch_;
};

}  // namespace launch

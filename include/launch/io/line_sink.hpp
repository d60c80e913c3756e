// Lines on their way to a console, in batches of whole lines that nobody who shares the console can tear: a pipe takes
// PIPE_BUF bytes at once, or many more while it is nearly empty; a terminal or a file takes any number. A line longer
// than PIPE_BUF may be torn on a pipe that is nearly full. Blocks as long as the console does. When nobody reads any
// more, lines go nowhere; when they cannot be written for another reason, as on a full disk, they are counted, and a
// line in their place says how much is missing.
#pragma once

#include "launch/io/message_console.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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
  // No more lines will come.
  void finish();

  // What could not be written; by any thread.
  std::uint64_t lost() const { return lost_; }
  std::string reason() const;

 private:
  static constexpr std::size_t enough = std::size_t{64} * 1024;

  bool takes_all() const;
  void write_batch();
  bool put(std::string_view text);
  bool say_gap();

  int fd_;
  MessageConsole& messages_;
  bool shared_;       // with the messages
  int capacity_ = 0;  // of the pipe; 0: it is none
  std::string batch_;
  std::atomic<std::uint64_t> lost_ = 0;
  std::atomic<int> error_ = 0;
  std::uint64_t gap_ = 0;  // bytes lost since the last line that was written
  bool torn_ = false;      // the last line there has no end
};

}  // namespace launch

// Lines on their way to a console, in batches of whole lines that other writers to the console cannot tear. A pipe
// takes PIPE_BUF bytes at once, or many more while it is nearly empty; a terminal or a file takes any number. A line
// longer than PIPE_BUF may be torn on a pipe that is nearly full. It blocks as long as the console does. If nobody
// reads any more, lines are dropped. If they cannot be written for another reason, such as a full disk, they are
// counted, and a line in their place says how much is missing.
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
  // Makes a pipe larger if that is allowed. `messages`: what else launch writes there if `fd` is a terminal.
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

  // How many bytes could not be written, and why. Any thread may call these.
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
  bool shared_;            // the messages go to the same terminal
  std::size_t pipe_size_;  // 0: it is not a pipe
  std::string batch_;
  std::atomic<std::uint64_t> lost_ = 0;
  std::atomic<int> error_ = 0;
  std::uint64_t gap_ = 0;  // bytes lost since the last line that was written
  bool torn_ = false;      // the last line there has no end
};

}  // namespace launch

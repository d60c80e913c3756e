// Output whose writers never wait: for messages on a pipe that nobody reads, a held terminal, a stalled file.
//
// A message is written by its writer where that cannot block, as it can in a file; else it is kept, in order, for a
// thread, which is there only as long as something is kept. Each write is of whole lines, on a pipe of at most PIPE_BUF
// bytes unless a line is longer, so that lines of other processes do not come between. Flags that other processes share
// stay as they are.
//
// Errors: what cannot be written, as when the reader has gone, is left out silently. What `room` bytes cannot keep,
// while as many again are being written, is left out too, and a line in its place says how many messages that were.
// SIGPIPE is for the program to ignore. Safe to use from several threads. Not to be used before a fork.
#pragma once

#include "launch/core/base/time.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

namespace launch {

class PatientOutput {
 public:
  // Writes nothing.
  PatientOutput() = default;
  // The descriptor stays the caller's. `room` does not bind a message that none is kept before.
  explicit PatientOutput(int fd, std::size_t room = std::size_t{1} << 20);

  // One message: whole lines.
  void write(std::string_view lines);
  // For what is stale a moment later: false, and it is not written, where it would have to wait.
  bool offer(std::string_view text);
  // Waits until all is written; false when some is not in time.
  bool flush(Duration patience);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace launch

// Output whose writers never wait, even if nobody reads the pipe, the terminal is held, or the file stalls.
//
// The caller writes a message itself if that cannot block; for a file it can. Otherwise the message is kept, in order,
// for a thread that exists only as long as something is kept. Each write is of whole lines, on a pipe of at most
// PIPE_BUF bytes unless a line is longer, so that lines of other processes do not come between. Flags that other
// processes share stay as they are.
//
// Errors: what cannot be written, for example because the reader has gone, is dropped silently. What does not fit into
// `room` bytes, while as many again are being written, is dropped too, and a line in its place says how many messages
// that were. The program must ignore SIGPIPE. Several threads may use it. It must not be used before a fork.
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
  // The descriptor stays the caller's. `room` does not limit a message that is kept alone.
  explicit PatientOutput(int fd, std::size_t room = std::size_t{1} << 20);

  // One message: whole lines.
  void write(std::string_view lines);
  // For text that is out of date a moment later. If it would have to wait, it is not written, and the result is false.
  bool offer(std::string_view text);
  // Waits until all is written; false if some is not written in time.
  bool flush(Duration patience);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace launch

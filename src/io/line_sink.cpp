#include "launch/io/line_sink.hpp"

#include "launch/core/text.hpp"
#include "launch/io/fd.hpp"

#include <algorithm>
#include <climits>

#include <fcntl.h>

namespace launch {
namespace {

constexpr int wanted_capacity = 1 << 20;
// So much room that nobody fills it between our look and our write.
constexpr int ample_capacity = 1 << 19;

}  // namespace

LineSink::LineSink(int fd, MessageConsole& messages)
    : fd_(fd), messages_(messages), shared_(messages.shares(fd)), capacity_(std::max(::fcntl(fd, F_GETPIPE_SZ), 0)) {
  if (capacity_ > 0 && capacity_ < wanted_capacity)
    capacity_ = std::max(capacity_, ::fcntl(fd, F_SETPIPE_SZ, wanted_capacity));
}

// A write to a pipe is one piece for everybody as long as it need not wait for room.
bool LineSink::takes_all() const {
  if (capacity_ == 0) return true;
  return capacity_ >= ample_capacity && bytes_waiting(fd_) <= static_cast<std::size_t>(capacity_ / 4);
}

void LineSink::write() {
  if (batch_.empty()) return;
  if (!shared_) return write_batch();
  const MessageConsole::Turn turn(messages_);
  batch_.insert(0, turn.opening());
  write_batch();
}

void LineSink::write_batch() {
  std::string_view rest = batch_;
  while (!rest.empty()) {
    const bool at_once = rest.size() <= PIPE_BUF || takes_all();
    const std::string_view piece = at_once ? rest : first_lines(rest, PIPE_BUF);
    (void)write_all(fd_, piece);
    rest.remove_prefix(piece.size());
  }
  batch_.clear();
}

}  // namespace launch

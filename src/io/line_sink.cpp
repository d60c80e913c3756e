#include "launch/io/line_sink.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>

namespace launch {
namespace {

constexpr int wanted_capacity = 1 << 20;
// With this much room nobody fills it between our look and our write.
constexpr int ample_capacity = 1 << 19;

}  // namespace

LineSink::LineSink(int fd, MessageConsole& messages)
    : fd_(fd), messages_(messages), shared_(messages.shares(fd)), capacity_(std::max(::fcntl(fd, F_GETPIPE_SZ), 0)) {
  if (capacity_ > 0 && capacity_ < wanted_capacity)
    capacity_ = std::max(capacity_, ::fcntl(fd, F_SETPIPE_SZ, wanted_capacity));
}

// A write to a pipe stays in one piece as long as it need not wait for room.
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
  if (gap_ > 0 && !say_gap()) {
    lost_ += rest.size();
    gap_ += rest.size();
    rest = {};
  }
  while (!rest.empty()) {
    const bool at_once = rest.size() <= PIPE_BUF || takes_all();
    const std::string_view piece = at_once ? rest : first_lines(rest, PIPE_BUF);
    rest.remove_prefix(piece.size());
    if (put(piece) || gap_ == 0) continue;
    lost_ += rest.size();
    gap_ += rest.size();
    break;
  }
  batch_.clear();
}

// False if some of it could not be written. That part is lost, unless nobody would have read it.
bool LineSink::put(std::string_view text) {
  const std::size_t done = write_most(fd_, text);
  if (done == text.size()) return true;
  if (errno == EPIPE || errno == ECONNRESET) return false;
  error_ = errno;
  lost_ += text.size() - done;
  gap_ += text.size() - done;
  if (done > 0) torn_ = text[done - 1] != '\n';
  return false;
}

bool LineSink::say_gap() {
  const std::string note = fmt::format("{}[launch: {} bytes lost here: {}]\n", torn_ ? "\n" : "", gap_, reason());
  const std::size_t done = write_most(fd_, note);
  if (done > 0) torn_ = done < note.size();
  if (done == note.size()) gap_ = 0;
  return done == note.size();
}

void LineSink::finish() {
  write();
  if (gap_ > 0) (void)say_gap();
}

std::string LineSink::reason() const { return std::strerror(error_); }

}  // namespace launch

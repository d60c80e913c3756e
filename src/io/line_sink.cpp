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
LineSink::LineSink(int fd, MessageConsole& messages)
    : fd_(fd), messages_(messages), shared_(messages.shares(fd)), pipe_size_(enlarge_pipe(fd)) {}

// A write to a pipe stays in one piece as long as it need not wait for room.
bool LineSink::takes_all() const { return pipe_size_ == 0 || is_roomy(fd_, pipe_size_); }

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

#include "launch/io/event_sink.hpp"

#include "launch/core/text.hpp"
#include "launch/io/log.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr int reader_patience_ms = 1000;  // a reader that sleeps longer misses the rest

// A pipe is opened anew: not to block must not become a property of what the workers write to. A file is not: what is
// redirected there by a shell has one position, which the workers share.
Fd share_standard_output() {
  struct stat info {};
  Fd fd;
  if (::fstat(STDOUT_FILENO, &info) == 0 && S_ISFIFO(info.st_mode))
    fd = open_again(STDOUT_FILENO, O_WRONLY | O_NONBLOCK);
  return fd.valid() ? std::move(fd) : Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
}

// 0, or why not.
int write_line(int fd, std::string_view line) {
  while (!line.empty()) {
    pollfd ready{fd, POLLOUT, 0};
    const int count = ::poll(&ready, 1, reader_patience_ms);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) return ETIMEDOUT;
    const ssize_t written = ::write(fd, line.data(), line.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return errno;
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

Result<EventSink> EventSink::open(const std::string& path) {
  const bool standard = path == "-";
  Fd fd = standard ? share_standard_output()
                   : Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
  if (fd.valid()) return EventSink(std::move(fd), standard ? "standard output" : shown(path));
  const int error = errno;
  return usage_error(
      fmt::format("{}: cannot write there: {}; name a file in a folder that is there, or - for standard "
                  "output",
                  as_typed("--events", path), std::strerror(error)));
}

EventSink EventSink::standard_error() {
  EventSink sink;
  sink.among_messages_ = true;
  return sink;
}

void EventSink::write(std::string line) {
  if (among_messages_) return write_bare(line);
  if (!takes()) return;
  end_progress();
  line += '\n';
  const int error = write_line(fd_.get(), line);
  if (error == 0) return;
  fd_.reset();
  log_warning(fmt::format("events cannot be written to {}: {}; none are from now on", name_, std::strerror(error)));
}

}  // namespace launch

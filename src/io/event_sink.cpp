#include "launch/io/event_sink.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"
#include "launch/io/log.hpp"
#include "launch/io/outlet.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t most_waiting = 10'000;
constexpr int reader_patience_ms = 1000;  // a reader that sleeps longer misses the rest

// A pipe is opened again, so that what the workers write to does not become non-blocking. A file is not: if a shell has
// redirected to it, it has one position, which the workers share.
Fd share_standard_output() {
  struct stat info {};
  Fd fd;
  if (::fstat(STDOUT_FILENO, &info) == 0 && S_ISFIFO(info.st_mode))
    fd = open_again(STDOUT_FILENO, O_WRONLY | O_NONBLOCK);
  return fd.valid() ? std::move(fd) : Fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
}

// A full disk may have cut the last line of an earlier time.
bool ends_within_a_line(const std::string& path, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return false;
  const std::string end = read_tail(path, 1);
  return !end.empty() && end != "\n";
}

// Returns 0, or the errno.
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

struct EventSink::Output {
  explicit Output(const std::string& path) : name(path == "-" ? "standard output" : shown(path)) {}

  // Called by the thread. Returns 0, or the errno.
  int open(const std::string& path) {
    constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    fd = path == "-" ? share_standard_output() : Fd(::open(path.c_str(), flags, 0666));
    not_opened = fd.valid() ? 0 : errno;
    if (not_opened == 0 && path == "-" && ::isatty(fd.get()) == 1) terminal.emplace(fd.get());
    if (not_opened == 0 && path != "-" && ends_within_a_line(path, fd.get())) (void)write_line(fd.get(), "\n");
    return not_opened;
  }

  // Called by the thread; for a terminal, where a line of progress must be removed meanwhile, by the owner.
  void write(std::string_view line) {
    --waiting;
    if (!takes) return;
    const int error = not_opened != 0 ? not_opened : put(line);
    if (error == 0) return;
    // Before `takes` changes: whoever sees it may end the program.
    log_warning(
        fmt::format("cannot write events to {}: {}; no events are written from now on", name, std::strerror(error)));
    takes = false;
  }

  // A terminal may say that it is ready, and then take no end of a line for ever.
  int put(std::string_view line) const {
    if (!terminal) return write_line(fd.get(), line);
    return terminal->put_until(line, later(now(), std::chrono::milliseconds(reader_patience_ms))).empty() ? 0
                                                                                                          : ETIMEDOUT;
  }

  Fd fd;
  std::optional<Outlet> terminal;
  std::string name;  // for warnings
  int not_opened = 0;
  std::atomic<bool> takes = true;
  std::atomic<std::size_t> waiting = 0;  // lines
  std::size_t lost = 0;                  // lines, because too many waited; only the owner uses it
};

boost::asio::awaitable<Result<EventSink>> EventSink::open(std::string path, DiskThread& disk, Time give_up) {
  EventSink sink;
  sink.disk_ = &disk;
  sink.output_ = std::make_shared<Output>(path);
  const auto open = [output = sink.output_, path] { return output->open(path); };
  auto opening = disk.run_until(give_up, open);
  const auto error = co_await std::move(opening);
  if (!error) {
    log_warning(fmt::format("the file system of {} does not answer: events wait for it", sink.output_->name));
  } else if (*error != 0) {
    co_return usage_error(
        fmt::format("{}: cannot write there: {}; name a file in a folder that exists, or - for standard output",
                    as_typed("--events", path), std::strerror(*error)));
  } else if (::isatty(sink.output_->fd.get()) == 1) {
    sink.disk_ = nullptr;
  }
  co_return sink;
}

EventSink EventSink::standard_error() {
  EventSink sink;
  sink.among_messages_ = true;
  return sink;
}

bool EventSink::takes() const { return among_messages_ || (output_ && output_->takes); }

void EventSink::write(std::string line) {
  if (among_messages_) return write_bare(line);
  if (!takes()) return;
  end_progress();
  line += '\n';
  if (output_->waiting >= most_waiting) {
    if (output_->lost++ == 0)
      log_warning(fmt::format("the file system of {} does not answer: events are lost", output_->name));
    return;
  }
  ++output_->waiting;
  if (disk_ == nullptr) return output_->write(line);
  disk_->give([output = output_, line = std::move(line)] { output->write(line); });
}

boost::asio::awaitable<void> EventSink::flush(Time give_up) {
  if (!takes() || disk_ == nullptr) co_return;
  const auto nothing = [] { return true; };
  auto writing = disk_->run_until(give_up, nothing);
  const auto written = co_await std::move(writing);
  if (!written) output_->takes = false;
  const std::size_t lost = output_->lost + (written ? 0 : output_->waiting.load());
  if (lost > 0)
    log_warning(fmt::format("the file system of {} did not answer: {} lost", output_->name,
                            lost == 1 ? "1 event is" : fmt::format("{} events are", lost)));
}

}  // namespace launch

#include "launch/io/patient_output.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr int pause_ms = 10;
constexpr auto longest_poll = std::chrono::milliseconds(60'000);

// How a descriptor is written to.
struct Outlet {
  explicit Outlet(int given) : fd(::fcntl(given, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)), prompt(!fd.valid()) {
    struct stat info {};
    if (!fd.valid() || ::fstat(given, &info) != 0) return;
    const bool pipe = S_ISFIFO(info.st_mode);
    if (pipe) largest = PIPE_BUF;
    socket = S_ISSOCK(info.st_mode);
    if (pipe || (S_ISCHR(info.st_mode) && ::isatty(given) == 1)) {
      // Not to block is a property of what is open, which other processes share: so it is opened anew.
      Fd own = open_again(given, O_WRONLY | O_NONBLOCK);
      prompt = own.valid();
      if (prompt) fd = std::move(own);
    } else {
      prompt = socket || S_ISCHR(info.st_mode);
    }
  }

  // How many bytes need no further care, written or not to be written at all; none: not now.
  std::optional<std::size_t> put(std::string_view text) const {
    ssize_t written = 0;
    do {
      written = socket ? ::send(fd.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                       : ::write(fd.get(), text.data(), text.size());
    } while (written < 0 && errno == EINTR);
    if (written < 0 && errno == EAGAIN) return std::nullopt;
    return written < 0 ? text.size() : static_cast<std::size_t>(written);
  }

  // What is left to be written when all else is, or at this time.
  std::string_view put_until(std::string_view text, Time give_up) const {
    bool refused = false;
    while (!text.empty()) {
      // A terminal that has one byte left says that it is ready, but takes no end of a line, which is two.
      if (refused && now() >= give_up) break;
      if (std::exchange(refused, false)) ::poll(nullptr, 0, pause_ms);
      if (!is_ready(give_up)) break;
      const auto done = put(first_piece(text));
      refused = !done;
      if (done) text.remove_prefix(*done);
    }
    return text;
  }

  // True when something can be written; false when that is not so at this time.
  bool is_ready(Time give_up) const {
    while (true) {
      pollfd ready{fd.get(), POLLOUT, 0};
      const auto left = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(give_up - now()), 0ms, longest_poll);
      const int found = ::poll(&ready, 1, static_cast<int>(left.count()));
      if (found > 0) return true;
      if ((found == 0 || errno == EINTR) && now() >= give_up) return false;
      if (found < 0 && errno != EINTR) return true;
    }
  }

  // True when a piece that can be written at once is known to be so without having been tried.
  bool can_be_asked() const { return prompt || largest == PIPE_BUF; }

  // What one write is to have.
  std::string_view first_piece(std::string_view text) const { return first_lines(text, largest); }

  Fd fd;
  bool socket = false;
  bool prompt;  // a write never waits
  std::size_t largest = std::size_t{64} * 1024;
};

std::string word_of_loss(std::size_t messages) {
  return fmt::format("launch: {} left out here: nobody was reading\n",
                     messages == 1 ? "1 message was" : fmt::format("{} messages were", messages));
}

}  // namespace

// What the thread and its owner share; lives as long as the longer of both. The functions are called with `mutex` held.
struct PatientOutput::Shared : std::enable_shared_from_this<Shared> {
  Shared(int fd, std::size_t most) : outlet(fd), room(most) {}

  using Lock = std::unique_lock<std::mutex>;

  bool idle() const { return !busy && kept.empty(); }
  bool fits(std::size_t size) const { return kept.empty() || kept.size() + size <= room; }

  void keep(std::string_view lines) {
    if (lost > 0) {
      const std::string word = word_of_loss(lost);
      if (fits(word.size() + lines.size())) {
        kept += word;
        lost = 0;
      }
    }
    if (lost > 0 || !fits(lines.size())) {
      ++lost;
    } else {
      kept += lines;
    }
  }

  // Writes what can be written at once, and leaves the rest to the thread.
  void go_on() {
    if (busy) return;
    while (outlet.prompt && !kept.empty()) {
      const auto done = outlet.put(outlet.first_piece(kept));
      if (!done) break;
      kept.erase(0, *done);
    }
    if (kept.empty()) return;
    try {
      std::thread([self = shared_from_this()] { self->work(); }).detach();
      busy = true;
    } catch (const std::system_error&) {
      // None can be had: the next message, or a flush, tries again.
      if (outlet.can_be_asked()) put_kept(now());
    }
  }

  void put_kept(Time give_up) {
    const std::string_view left = outlet.put_until(kept, give_up);
    kept.erase(0, kept.size() - left.size());
  }

  // The thread's work, by whoever cannot have one as well.
  void work_until(Time give_up, Lock& lock) {
    busy = true;
    while (true) {
      if (kept.empty() && lost > 0) kept = word_of_loss(std::exchange(lost, 0));
      if (kept.empty()) break;
      const std::string batch = std::exchange(kept, {});
      lock.unlock();
      const std::size_t left = outlet.put_until(batch, give_up).size();
      lock.lock();
      kept.insert(0, batch, batch.size() - left);
      if (left > 0) break;
    }
    busy = false;
    idled.notify_all();
  }

  void work() {
    Lock lock(mutex);
    work_until(never, lock);
  }

  const Outlet outlet;
  const std::size_t room;
  std::mutex mutex;
  std::condition_variable idled;
  std::string kept;
  std::size_t lost = 0;  // messages since `kept` was full
  bool busy = false;     // there is a thread, and nobody else may write
};

PatientOutput::PatientOutput(int fd, std::size_t room) : shared_(std::make_shared<Shared>(fd, room)) {}

void PatientOutput::write(std::string_view lines) {
  if (!shared_) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->keep(lines);
  shared_->go_on();
}

bool PatientOutput::offer(std::string_view text) {
  if (!shared_) return false;
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->idle()) return false;
  std::size_t done = 0;
  if (shared_->outlet.prompt) {
    const auto put = shared_->outlet.put(text);
    if (!put) return false;
    done = *put;
  }
  shared_->kept = text.substr(done);
  shared_->go_on();
  return true;
}

bool PatientOutput::flush(Duration patience) {
  if (!shared_) return true;
  Shared::Lock lock(shared_->mutex);
  shared_->go_on();
  if (!shared_->busy) {
    shared_->work_until(later(now(), patience), lock);
    return shared_->idle();
  }
  return shared_->idled.wait_for(lock, patience, [this] { return shared_->idle(); });
}

}  // namespace launch

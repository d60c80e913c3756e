#include "launch/io/outlet.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/clock.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr int pause_ms = 10;
constexpr auto longest_poll = std::chrono::milliseconds(60'000);

}  // namespace

Outlet::Outlet(int given) : fd_(::fcntl(given, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)), prompt_(!fd_.valid()) {
  struct stat info {};
  if (!fd_.valid() || ::fstat(given, &info) != 0) return;
  const bool pipe = S_ISFIFO(info.st_mode);
  if (pipe) largest_ = PIPE_BUF;
  socket_ = S_ISSOCK(info.st_mode);
  if (pipe || (S_ISCHR(info.st_mode) && ::isatty(given) == 1)) {
    // Not to block is a property of what is open, which other processes share: so it is opened again.
    Fd own = open_again(given, O_WRONLY | O_NONBLOCK);
    prompt_ = own.valid();
    if (prompt_) fd_ = std::move(own);
  } else {
    prompt_ = socket_ || S_ISCHR(info.st_mode);
  }
}

bool Outlet::can_be_asked() const { return prompt_ || largest_ == PIPE_BUF; }

std::optional<std::size_t> Outlet::put(std::string_view text) const {
  ssize_t written = 0;
  do {
    written = socket_ ? ::send(fd_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                      : ::write(fd_.get(), text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return errno == EAGAIN ? std::nullopt : std::optional(text.size());
  errno = 0;
  return static_cast<std::size_t>(written);
}

std::string_view Outlet::put_until(std::string_view text, Time give_up) const {
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

bool Outlet::is_ready(Time give_up) const {
  while (true) {
    pollfd ready{fd_.get(), POLLOUT, 0};
    const auto left = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(give_up - now()), 0ms, longest_poll);
    const int found = ::poll(&ready, 1, static_cast<int>(left.count()));
    if (found > 0) return true;
    if ((found == 0 || errno == EINTR) && now() >= give_up) return false;
    if (found < 0 && errno != EINTR) return true;
  }
}

std::string_view Outlet::first_piece(std::string_view text) const { return first_lines(text, largest_); }

std::string_view Outlet::first_large_piece(std::string_view text) {
  if (largest_ != PIPE_BUF || text.size() <= largest_) return first_piece(text);
  if (pipe_size_ == 0) pipe_size_ = enlarge_pipe(fd_.get());
  // Another one that writes as much at the same time finds room, too.
  return first_lines(text, is_roomy(fd_.get(), pipe_size_) ? pipe_size_ / 4 : largest_);
}

}  // namespace launch

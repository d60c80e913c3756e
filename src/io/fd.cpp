#include "launch/io/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr int wanted_pipe_size = 1 << 20;
constexpr std::size_t ample_pipe_size = std::size_t{1} << 19;

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Fd open_again(int fd, int flags) {
  return Fd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), flags | O_CLOEXEC | O_NOCTTY));
}

std::size_t bytes_waiting(int fd) {
  int count = 0;
  return ::ioctl(fd, FIONREAD, &count) == 0 ? static_cast<std::size_t>(count) : 0;
}

std::size_t enlarge_pipe(int fd) {
  const int size = ::fcntl(fd, F_GETPIPE_SZ);
  if (size <= 0) return 0;
  const int larger = size < wanted_pipe_size ? ::fcntl(fd, F_SETPIPE_SZ, wanted_pipe_size) : size;
  return static_cast<std::size_t>(std::max(size, larger));
}

bool is_roomy(int fd, std::size_t pipe_size) {
  return pipe_size >= ample_pipe_size && bytes_waiting(fd) <= pipe_size / 4;
}

std::size_t write_most(int fd, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      // A terminal or pipe that somebody else has made non-blocking.
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      break;
    }
  }
  return done;
}

bool write_all(int fd, std::string_view bytes) { return write_most(fd, bytes) == bytes.size(); }

bool is_read_for(int fd, Duration time) {
  pollfd reader{fd, 0, 0};
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  return ::poll(&reader, 1, static_cast<int>(wait)) <= 0;
}

void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", O_RDWR);  // takes the lowest number
}

}  // namespace launch

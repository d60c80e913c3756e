#include "launch/io/line_sink.hpp"

#include "launch/io/fd.hpp"

#include <algorithm>
#include <climits>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr int wanted_capacity = 1 << 20;
// So much room that nobody fills it between our look and our write.
constexpr int ample_capacity = 1 << 19;

}  // namespace

LineSink::LineSink(int fd) : fd_(fd), capacity_(std::max(::fcntl(fd, F_GETPIPE_SZ), 0)) {
  if (capacity_ > 0 && capacity_ < wanted_capacity)
    capacity_ = std::max(capacity_, ::fcntl(fd, F_SETPIPE_SZ, wanted_capacity));
}

// A write to a pipe is one piece for everybody as long as it need not wait for room.
bool LineSink::takes_all() const {
  if (capacity_ == 0) return true;
  int filled = 0;
  return capacity_ >= ample_capacity && ::ioctl(fd_, FIONREAD, &filled) == 0 && filled <= capacity_ / 4;
}

// As many whole lines as a full pipe takes in one piece, or a longer one alone.
std::size_t LineSink::next_piece(std::string_view text) const {
  if (text.size() <= PIPE_BUF || takes_all()) return text.size();
  const auto last = text.substr(0, PIPE_BUF).rfind('\n');
  return (last == std::string_view::npos ? text.find('\n') : last) + 1;
}

void LineSink::write() {
  std::string_view rest = batch_;
  while (!rest.empty()) {
    const std::size_t size = next_piece(rest);
    (void)write_all(fd_, rest.substr(0, size));
    rest.remove_prefix(size);
  }
  batch_.clear();
}

}  // namespace launch

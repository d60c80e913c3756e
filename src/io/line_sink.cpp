#include "launch/io/line_sink.hpp"

#include "launch/io/fd.hpp"

#include <climits>
#include <string_view>

#include <sys/stat.h>

namespace launch {
namespace {

constexpr std::size_t usual_batch = std::size_t{64} * 1024;

bool is_pipe(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
}

}  // namespace

LineSink::LineSink(int fd) : fd_(fd), most_(is_pipe(fd) ? PIPE_BUF : usual_batch) {}

void LineSink::write(std::size_t size) {
  if (size == 0) size = batch_.size();
  if (size == 0) return;
  if (!closed_) closed_ = !write_all(fd_, std::string_view(batch_).substr(0, size));
  batch_.erase(0, size);
}

}  // namespace launch

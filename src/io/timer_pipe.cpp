#include "launch/io/timer_pipe.hpp"

#include "launch/io/fd.hpp"
#include "launch/io/log.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace launch {
namespace asio = boost::asio;

namespace {

Error no_pipe(const std::string& path) {
  return Error{ErrorCode::system,
               fmt::format("cannot create the pipe {} for the workers' watchdog timers: {}; name another one by "
                           "TORCHELASTIC_TIMER_FILE, or leave TORCHELASTIC_ENABLE_FILE_TIMER out",
                           path, std::strerror(errno))};
}

}  // namespace

// The name of the pipe. It is removed at the end, unless another file has taken it.
class TimerPipe::Name {
 public:
  explicit Name(std::string path) : path_(std::move(path)) { made_ = ::lstat(path_.c_str(), &info_) == 0; }
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;
  ~Name() {
    struct stat found {};
    if (made_ && ::lstat(path_.c_str(), &found) == 0 && found.st_ino == info_.st_ino && found.st_dev == info_.st_dev)
      ::unlink(path_.c_str());
  }

 private:
  std::string path_;
  struct stat info_ {};
  bool made_ = false;
};

TimerPipe::TimerPipe(TimerPipe&& other) noexcept = default;
TimerPipe& TimerPipe::operator=(TimerPipe&& other) noexcept = default;
TimerPipe::~TimerPipe() = default;

Result<TimerPipe> TimerPipe::open(const asio::any_io_executor& executor, const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return no_pipe(path);
  if (::mkfifo(path.c_str(), 0600) != 0) return no_pipe(path);
  auto name = std::make_unique<Name>(path);
  Fd fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return no_pipe(path);
  asio::posix::stream_descriptor stream(executor, fd.release());
  return TimerPipe(std::move(name), std::move(stream));
}

TimerPipe::TimerPipe(std::unique_ptr<Name> name, asio::posix::stream_descriptor fd)
    : name_(std::move(name)), fd_(std::move(fd)) {}

asio::awaitable<std::optional<std::string>> TimerPipe::next_line() {
  while (true) {
    if (auto line = take_line()) co_return line;
    limit_rest();
    std::array<char, longest_line> chunk;
    auto [error, length] = co_await fd_.async_read_some(asio::buffer(chunk), asio::as_tuple(asio::use_awaitable));
    if (error) co_return std::nullopt;
    held_.append(chunk.data(), length);
  }
}

std::optional<std::string> TimerPipe::take_line() {
  while (true) {
    const std::size_t end = held_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = held_.substr(0, end);
    held_.erase(0, end + 1);
    const bool whole = !std::exchange(skipping_, false);
    if (whole && line.size() <= longest_line) return line;
    if (!std::exchange(complained_, true))
      log_warning(fmt::format("a request for a watchdog timer is longer than {} bytes; it is ignored", longest_line));
  }
}

// Nothing of a line that is too long is kept.
void TimerPipe::limit_rest() {
  if (held_.size() <= longest_line && !skipping_) return;
  skipping_ = true;
  held_.clear();
}

}  // namespace launch

#include "launch/io/program_output.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/files.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration time_for_last_bytes = 500ms;
constexpr Duration time_for_last_write = 2s;
constexpr std::size_t most_waiting = std::size_t{16} << 20;
constexpr std::size_t weight_of_piece = 128;  // memory that a piece needs beside its bytes

std::size_t weight_of(std::string_view piece) { return piece.size() + weight_of_piece; }

}  // namespace

// The thread opens and writes it; the owner only counts what waits.
struct ProgramOutput::File {
  explicit File(std::string path) : name(std::move(path)) {}

  void open() {
    auto opened = open_log(name);
    if (opened) {
      fd = *std::move(opened);
    } else {
      give_up(opened.error().message);
    }
  }

  void write(std::string_view bytes) {
    waiting -= weight_of(bytes);
    while (fd.valid() && !bytes.empty()) {
      const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return give_up(std::strerror(errno));
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void give_up(std::string_view reason) {
    fd.reset();
    log_warning(fmt::format("cannot write output to {}: {}", shown(name), reason));
  }

  std::string name;
  Fd fd;
  std::atomic<std::size_t> waiting = 0;  // bytes of memory
  bool lost = false;                     // some, because too many waited; only the owner uses it
};

ProgramOutput::ProgramOutput(const asio::any_io_executor& executor, Fd reader, Fd writer, Take take)
    : pipe_(executor, reader.release()), writer_(std::move(writer)), take_(std::move(take)), ended_(executor) {
  pipe_.non_blocking(true);  // Asio may wake us for an event of an older descriptor, and then nothing is there
}

Result<std::shared_ptr<ProgramOutput>> ProgramOutput::open(const asio::any_io_executor& executor, Take take) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{ErrorCode::system, fmt::format("cannot make a pipe: {}", why_not_opened(errno))};
  auto made = std::make_shared<ProgramOutput>(executor, Fd(ends[0]), Fd(ends[1]), std::move(take));
  run_in_background(executor, made->read(made));
  return made;
}

void ProgramOutput::keep_in(const std::string& path, DiskThread& disk) {
  file_ = std::make_shared<File>(path);
  disk_ = &disk;
  disk.give([file = file_] { file->open(); });
}

void ProgramOutput::take(std::string_view bytes) {
  take_(bytes);
  if (!file_) return;
  file_->lost = file_->lost || file_->waiting + weight_of(bytes) > most_waiting;
  if (file_->lost) return;
  file_->waiting += weight_of(bytes);
  disk_->give([file = file_, copy = std::string(bytes)] { file->write(copy); });
}

// 0: there is nothing to read, now or ever.
std::size_t ProgramOutput::read_some(std::size_t most) {
  std::array<char, 16384> bytes;
  ssize_t size = 0;
  do {
    size = ::read(pipe_.native_handle(), bytes.data(), std::min(most, bytes.size()));
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return 0;
  take({bytes.data(), static_cast<std::size_t>(size)});
  return static_cast<std::size_t>(size);
}

asio::awaitable<void> ProgramOutput::read(std::shared_ptr<ProgramOutput> /*self*/) {
  while (true) {
    auto waiting = pipe_.async_wait(asio::posix::stream_descriptor::wait_read, as_values);
    const auto [error] = co_await std::move(waiting);
    if (error || !pipe_.is_open()) break;
    errno = 0;
    if (read_some(std::string::npos) == 0 && errno != EAGAIN) break;
  }
  reading_ = false;
  ended_.cancel();
}

asio::awaitable<void> ProgramOutput::rest() {
  writer_.reset();
  ended_.expires_at(to_steady(later(now(), time_for_last_bytes)));
  if (reading_) (void)co_await ended_.async_wait(as_values);
  // Whoever still writes may do so for ever, so only what is in the pipe now is read.
  std::size_t left = reading_ ? bytes_waiting(pipe_.native_handle()) : 0;
  while (left > 0) {
    const std::size_t size = read_some(left);
    left = size > 0 ? left - size : 0;
  }
  take_ = [](std::string_view) {};
  boost::system::error_code ignored;
  pipe_.close(ignored);
  if (!file_) co_return;
  const auto nothing = [] { return true; };
  auto writing = disk_->run_until(later(now(), time_for_last_write), nothing);
  const auto written = co_await std::move(writing);
  if (!written || file_->lost)
    log_warning(fmt::format("the file system of {} does not answer: the file is incomplete", shown(file_->name)));
}

}  // namespace launch

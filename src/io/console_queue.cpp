#include "launch/io/console_queue.hpp"

#include "launch/io/background.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"

#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t worth_moving = std::size_t{1} << 20;
constexpr Duration before_it_is_tried_again = 10ms;
constexpr int pause_ms = 10;  // the same on the thread

// That a reader would have seen what is dropped for this reason. A terminal that has gone says EIO, and so does a disk
// that fails.
bool is_loss(int error, bool terminal) {
  return error != 0 && error != EPIPE && error != ECONNRESET && !(terminal && error == EIO);
}

// However long it takes. Why something was dropped, as errno has it.
int put_all(const Outlet& outlet, bool terminal, std::string_view text) {
  int refused = 0;
  while (!text.empty()) {
    const auto size = outlet.put(outlet.first_piece(text));
    if (!size) ::poll(nullptr, 0, pause_ms);
    if (size && is_loss(errno, terminal)) refused = errno;
    text.remove_prefix(size.value_or(0));
  }
  return refused;
}

}  // namespace

ConsoleQueue::ConsoleQueue(const asio::any_io_executor& executor, int fd, std::function<void()> on_less)
    : executor_(executor),
      on_less_(std::move(on_less)),
      outlet_(std::make_shared<Outlet>(fd)),
      terminal_(::isatty(fd) == 1),
      disk_(executor),
      watched_(executor),
      empty_(executor),
      pause_(executor) {
  // Whoever waits with Asio makes it non-blocking, for all who share it.
  if ((::fcntl(outlet_->fd(), F_GETFL) & O_NONBLOCK) == 0) return;
  Fd same(::fcntl(outlet_->fd(), F_DUPFD_CLOEXEC, 0));
  boost::system::error_code failed;
  watched_.assign(same.get(), failed);
  if (!failed) (void)same.release();
}

// Writes what can be written now, where that can be asked; true if all was.
bool ConsoleQueue::push() {
  while (written_ < held_.size()) {
    auto piece = outlet_->first_piece(std::string_view(held_).substr(written_));
    if (!outlet_->prompt()) {
      if (!outlet_->is_ready(now())) return false;
      piece = piece.substr(0, PIPE_BUF);  // a pipe that is ready has room for so much
    }
    const auto size = outlet_->put(piece);
    if (!size) return false;
    if (is_loss(errno, terminal_)) refused_ = errno;
    written_ += *size;  // or dropped, since its reader has gone
  }
  held_.clear();
  written_ = 0;
  return true;
}

void ConsoleQueue::write(std::string_view lines) {
  held_.append(lines);
  given_ += lines.size();
  if (writing_) return;
  if (!outlet_->can_be_asked()) {
    writing_ = true;
    return run_in_background(executor_, write_on_thread());
  }
  if (push()) return;
  writing_ = true;
  run_in_background(executor_, write_later());
}

asio::awaitable<void> ConsoleQueue::write_on_thread() {
  for (bool left = true; left;) {
    being_written_ = held_.size();
    auto work = [outlet = outlet_, terminal = terminal_, text = std::exchange(held_, {})] {
      return put_all(*outlet, terminal, text);
    };
    auto writing = disk_.run(std::move(work));
    const int refused = co_await std::move(writing);
    if (refused != 0) refused_ = refused;
    being_written_ = 0;
    left = !held_.empty();
    if (!left) {
      writing_ = false;
      empty_.cancel();
    }
    on_less_();
  }
}

asio::awaitable<void> ConsoleQueue::write_later() {
  for (bool left = true; left;) {
    auto waiting = watched_.async_wait(asio::posix::stream_descriptor::wait_write, as_values);
    (void)co_await std::move(waiting);
    const std::size_t before = held();
    left = !push();
    if (written_ > worth_moving) {
      held_.erase(0, written_);
      written_ = 0;
    }
    if (held() == before) {
      // It cannot be waited for. Or it is a terminal, which says that it is ready, but takes no end of a line.
      pause_.expires_at(to_steady(later(now(), before_it_is_tried_again)));
      (void)co_await pause_.async_wait(as_values);
      continue;
    }
    if (!left) {
      writing_ = false;
      empty_.cancel();
    }
    on_less_();
  }
}

asio::awaitable<void> ConsoleQueue::drained(Duration patience) {
  while (writing_) {
    const std::size_t before = held();
    empty_.expires_at(to_steady(later(now(), patience)));
    (void)co_await empty_.async_wait(as_values);
    if (held() == before) co_return;
  }
}

}  // namespace launch

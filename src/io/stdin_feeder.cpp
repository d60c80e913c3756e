#include "launch/io/stdin_feeder.hpp"

#include "launch/io/background.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/files.hpp"
#include "launch/io/log.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace launch {
namespace asio = boost::asio;

namespace {

constexpr std::size_t feed_size = std::size_t{64} * 1024;
constexpr auto look_for_foreground = std::chrono::milliseconds(500);  // nothing tells us when a shell puts us there

mode_t kind_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? info.st_mode & S_IFMT : 0;
}

// Unlike fstat(), it asks only the kernel. Other things that have a position are never waited for by poll(), either.
bool may_be_file(int fd) { return ::lseek(fd, 0, SEEK_CUR) >= 0; }

struct Piece {
  std::string bytes;
  int error = 0;
};

Piece read_piece(int fd) {
  Piece piece{std::string(feed_size, '\0')};
  ssize_t got = 0;
  do {
    got = ::read(fd, piece.bytes.data(), piece.bytes.size());
  } while (got < 0 && errno == EINTR);
  piece.error = got < 0 ? errno : 0;
  piece.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return piece;
}

bool is_ready(int fd, short events) {
  pollfd entry{fd, events, 0};
  return ::poll(&entry, 1, 0) > 0;
}

struct InputCopy {
  InputCopy(const asio::any_io_executor& executor, std::size_t start) : pipe(executor), given(start) {}
  asio::posix::stream_descriptor pipe;
  std::size_t given;  // how much of what is held was written to it
  bool waits = false;
};

}  // namespace

// It is driven by its own callbacks. Each of them may come when nothing is left to do.
class StdinFeeder::Feed : public std::enable_shared_from_this<Feed> {
 public:
  Feed(asio::any_io_executor executor, int source, pid_t owner, std::string name)
      : executor_(std::move(executor)),
        disk_(executor_),
        source_(source),
        owner_(owner),
        name_(std::move(name)),
        watch_(executor_),
        foreground_(executor_) {}

  // The pipes are closed, because a wait may keep a copy for longer.
  void begin() {
    boost::system::error_code ignored;
    for (const auto& copy : copies_) copy->pipe.close(ignored);
    copies_.clear();
    served_ = false;
  }

  void hold_up_nobody() { drops_ = true; }

  void end() {
    begin();
    ended_ = true;
    foreground_.cancel();
    boost::system::error_code ignored;
    watch_.close(ignored);
    input_.reset();
  }

  Result<Fd> open_copy() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return no_copy();
    Fd reader(ends[0]);
    auto copy = std::make_shared<InputCopy>(executor_, size_);
    boost::system::error_code error;
    copy->pipe.assign(ends[1], error);
    if (!error) copy->pipe.native_non_blocking(true, error);
    if (error) {
      if (!copy->pipe.is_open()) ::close(ends[1]);
      errno = error.value();
      return no_copy();
    }
    copies_.push_back(std::move(copy));
    served_ = true;
    open_source();
    go_on_later();
    return reader;
  }

 private:
  static Error no_copy() {
    return Error{
        ErrorCode::system,
        fmt::format("cannot make a copy of the standard input for a worker (--stdin=all): {}", why_not_opened(errno))};
  }

  void open_source() {
    if (input_ || ended_) return;
    by_thread_ = may_be_file(source_);
    Fd input;
    if (!by_thread_ && (kind_of(source_) == S_IFIFO || ::isatty(source_) == 1))
      input = open_again(source_, O_RDONLY | O_NONBLOCK);
    may_block_ = !input.valid();
    if (may_block_) input = Fd(::fcntl(source_, F_DUPFD_CLOEXEC, 3));
    input_ = std::make_shared<const Fd>(std::move(input));
    if (by_thread_) return;
    // Asio waits for this epoll: it would make the input itself non-blocking, for all who share it.
    Fd watch(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event readable{EPOLLIN, {}};
    ::epoll_ctl(watch.get(), EPOLL_CTL_ADD, input_->get(), &readable);  // fails if the input never needs a wait
    boost::system::error_code error;
    watch_.assign(watch.get(), error);
    ended_ = error.failed();
    if (!error) watch.release();
  }

  void go_on_later() {
    asio::post(executor_, [self = shared_from_this()] { self->go_on(); });
  }

  void go_on() {
    for (const auto& copy : copies_) give(copy);
    std::erase_if(copies_, [](const auto& copy) { return !copy->pipe.is_open(); });
    const auto behind = [this](const auto& copy) { return copy->given < size_; };
    const bool unread = copies_.empty() && !(drops_ && served_ && input_);
    if (unread || std::any_of(copies_.begin(), copies_.end(), behind)) return;
    // A process in the background of its terminal may not read there: it would be stopped. We would not, because we
    // have a session of our own. But what is typed then is meant for others.
    if (!ended_ && by_thread_) return read_by_thread();
    if (!ended_ && is_in_background(owner_, input_->get())) return wait_for_foreground();
    Piece piece = ended_ ? Piece() : read_on();
    if (piece.error == EAGAIN) return wait_for_input();
    if (piece.error == EIO && is_in_background(owner_, input_->get())) return wait_for_foreground();  // since just now
    take(std::move(piece));
  }

  void take(Piece piece) {
    if (piece.error != 0) log_warning(fmt::format("{} cannot be read: {}", name_, std::strerror(piece.error)));
    held_ = std::move(piece.bytes);
    size_ = held_.size();
    for (const auto& copy : copies_) copy->given = 0;
    ended_ = size_ == 0;
    if (ended_) return end();
    go_on_later();
  }

  // Writes as much as the pipe takes. Closes the pipe if nobody reads it any more.
  void give(const std::shared_ptr<InputCopy>& copy) {
    const int fd = copy->pipe.native_handle();
    bool closed = is_ready(fd, 0);  // this can report only an error
    while (!closed && copy->given < size_) {
      const ssize_t written = ::write(fd, held_.data() + copy->given, size_ - copy->given);
      if (written < 0 && errno == EAGAIN) return wait_for(copy);
      closed = written < 0 && errno != EINTR;
      if (written > 0) copy->given += static_cast<std::size_t>(written);
    }
    boost::system::error_code ignored;
    if (closed) copy->pipe.close(ignored);
  }

  // The error is EAGAIN if there is nothing yet.
  Piece read_on() const {
    if (may_block_ && !is_ready(input_->get(), POLLIN)) return Piece{{}, EAGAIN};
    return read_piece(input_->get());
  }

  // A file system may not answer.
  void read_by_thread() {
    if (std::exchange(waits_, true)) return;
    run_in_background(executor_, take_from_thread(shared_from_this()));
  }

  static asio::awaitable<void> take_from_thread(std::shared_ptr<Feed> self) {
    const auto read = [input = self->input_] { return read_piece(input->get()); };
    auto reading = self->disk_.run(read);
    Piece piece = co_await std::move(reading);
    self->waits_ = false;
    if (!self->ended_) self->take(std::move(piece));
  }

  void wait_for(const std::shared_ptr<InputCopy>& copy) {
    if (std::exchange(copy->waits, true)) return;
    copy->pipe.async_wait(asio::posix::stream_descriptor::wait_write,
                          [self = shared_from_this(), copy](const boost::system::error_code&) {
                            copy->waits = false;
                            self->go_on();
                          });
  }

  void wait_for_input() {
    if (std::exchange(waits_, true)) return;
    watch_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        self->waits_ = false;
                        self->ended_ = self->ended_ || error.failed();
                        self->go_on();
                      });
  }

  void wait_for_foreground() {
    if (std::exchange(looks_, true)) return;
    foreground_.expires_after(look_for_foreground);
    foreground_.async_wait([self = shared_from_this()](const boost::system::error_code&) {
      self->looks_ = false;
      self->go_on();
    });
  }

  asio::any_io_executor executor_;
  DiskThread disk_;
  int source_;
  pid_t owner_;
  std::string name_;
  std::shared_ptr<const Fd> input_;
  asio::posix::stream_descriptor watch_;  // for the input
  asio::steady_timer foreground_;
  bool by_thread_ = false;  // the thread reads the input
  bool may_block_ = false;  // a read may, if somebody else reads as well
  bool waits_ = false;
  bool looks_ = false;
  bool ended_ = false;
  bool drops_ = false;
  bool served_ = false;  // workers have got copies since begin()
  std::string held_;
  std::size_t size_ = 0;  // of what is held
  std::vector<std::shared_ptr<InputCopy>> copies_;
};

StdinFeeder::StdinFeeder(asio::any_io_executor executor, int source, pid_t owner, std::string name)
    : feed_(std::make_shared<Feed>(std::move(executor), source, owner, std::move(name))) {}

StdinFeeder::~StdinFeeder() { feed_->end(); }

std::vector<Fd> StdinFeeder::open_again_each(int source, std::size_t count) {
  std::vector<Fd> copies;
  const off_t position = ::lseek(source, 0, SEEK_CUR);
  if (position < 0 || kind_of(source) != S_IFREG) return copies;
  while (copies.size() < count) {
    Fd copy = open_again(source, O_RDONLY);
    if (!copy.valid() || ::lseek(copy.get(), position, SEEK_SET) < 0) return {};
    copies.push_back(std::move(copy));
  }
  return copies;
}

void StdinFeeder::hold_up_nobody() { feed_->hold_up_nobody(); }

void StdinFeeder::begin() { feed_->begin(); }

Result<Fd> StdinFeeder::open_copy() { return feed_->open_copy(); }

}  // namespace launch

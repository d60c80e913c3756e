#include "launch/io/stderr_tap.hpp"

#include "launch/core/logs/read_pace.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/files.hpp"
#include "launch/io/outlet.hpp"
#include "launch/io/thread_error.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <boost/asio/post.hpp>

namespace launch {
namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t one_read = std::size_t{64} << 10;
constexpr std::size_t half_pipe = std::size_t{32} << 10;      // of one that is not large
constexpr int large_pipe = 256 << 10;                         // so that a burst of a worker does not wait for us
constexpr std::size_t most_unshown = std::size_t{256} << 10;  // bytes that the console has yet to take
constexpr std::size_t most_at_end = std::size_t{1} << 20;     // of a stream, which something may write to for ever
constexpr std::size_t full_piece = 4095;                      // what a terminal gives at once: more may follow
constexpr std::size_t longest_line = std::size_t{1} << 20;    // that is waited for
constexpr int rest_of_line_ms = 20;
constexpr int ends_together_ms = 5;    // in which several workers may end
constexpr auto until_settled = 200ms;  // of a stream whose writer has ended
constexpr Duration between_sizes = 100ms;

// A terminal that changes nothing on its way; its other end is `reader`.
Result<Fd> make_terminal(Fd& reader, std::string_view name) {
  const auto failed = [name] {
    return Error{ErrorCode::system,
                 fmt::format("cannot make a terminal for the workers' {}: {}", name, std::strerror(errno))};
  };
  reader = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!reader.valid() || ::grantpt(reader.get()) != 0 || ::unlockpt(reader.get()) != 0) return failed();
  std::array<char, 64> path{};
  if (::ptsname_r(reader.get(), path.data(), path.size()) != 0) return failed();
  Fd writer(::open(path.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios modes{};
  if (!writer.valid() || ::tcgetattr(writer.get(), &modes) != 0) return failed();
  modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // the real terminal does what is to be done
  modes.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  if (::tcsetattr(writer.get(), TCSANOW, &modes) != 0) return failed();
  return writer;
}

Result<Fd> make_pipe(Fd& reader, std::string_view name) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{ErrorCode::system,
                 fmt::format("cannot make a pipe for the workers' {}: {}", name, why_not_opened(errno))};
  reader = Fd(ends[0]);
  return Fd(ends[1]);
}

bool is_readable(int fd, int wait_ms) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, wait_ms) > 0 && (one.revents & POLLIN) != 0;
}

}  // namespace

// What the thread and its owner share; lives as long as the longer of both.
struct StderrTap::Shared {
  struct Stream {
    Fd reader;
    bool shown = true;
    bool terminal = false;
    std::string tail;
    StreamListener listener{};
  };

  Shared(asio::any_io_executor own_executor, const Shown& by, std::function<void(bool)> hear)
      : executor(std::move(own_executor)),
        console(by.console),
        name(by.name),
        large_pipes(by.large_pipes ? by.large_pipes : std::make_shared<int>(most_large_pipes)),
        outlet(by.console),
        on_shown(std::move(hear)),
        terminal(::isatty(by.console) == 1),
        poller(::epoll_create1(EPOLL_CLOEXEC)),
        stop(::eventfd(0, EFD_CLOEXEC)),
        ended(executor) {}

  bool watch_all() const;
  void run();
  bool wait() const;
  struct Turn {
    std::size_t bytes = 0;
    bool crowded = false;  // a pipe was half full
    bool quiet = false;    // some streams may have ended, and nothing else was there
  };
  Turn read_some();
  void let_gather(const Turn& turn);
  std::size_t take(std::size_t stream);
  void let_others_end() const;
  std::size_t take_piece(Stream& stream);
  void keep(Stream& stream, std::string_view piece);
  void take_rest();
  void show(bool all);
  void fit_terminals();

  asio::any_io_executor executor;
  int console;
  std::string name;                  // of the stream, in messages
  std::shared_ptr<int> large_pipes;  // the owner's: how many more there may be
  Outlet outlet;
  std::function<void(bool)> on_shown;
  bool terminal;
  Fd poller, stop;
  std::vector<Stream> streams;
  std::string unshown;  // the thread's
  ReadPace pace;        // the thread's
  winsize size{};       // the thread's, of the terminals
  Time next_size{};     // the thread's: when to look again whether it has changed
  mutable std::mutex mutex;
  mutable std::condition_variable received;
  bool reading = false;               // bytes may be between a stream and its tail
  std::atomic<bool> is_full = false;  // so much waits for the console that no more is read
  std::atomic<std::uint64_t> lost = 0;
  std::atomic<int> error = 0;
  std::atomic<Time> last_progress{Time()};
  asio::steady_timer ended;  // the owner's
  bool running = false;      // the owner's
  bool hurried = false;      // the owner's: nobody waits for the rest
};

// ---- the thread

bool StderrTap::Shared::watch_all() const {
  for (std::size_t i = 0; i < streams.size(); ++i) {
    epoll_event event{EPOLLIN, {.u64 = i}};
    if (::epoll_ctl(poller.get(), EPOLL_CTL_ADD, streams[i].reader.get(), &event) != 0) return false;
  }
  return true;
}

void StderrTap::Shared::run() {
  while (wait()) {
    show(false);
    is_full = unshown.size() >= most_unshown;
    const Turn turn = unshown.size() < most_unshown ? read_some() : Turn();
    show(false);
    if (turn.quiet) let_others_end();
    if (turn.bytes > 0 && !terminal) let_gather(turn);
  }
  take_rest();
  show(true);
}

// Until there is something to read or to show; false: nobody writes any more.
bool StderrTap::Shared::wait() const {
  std::array<pollfd, 3> what{pollfd{stop.get(), POLLIN, 0}, pollfd{-1, POLLOUT, 0}, pollfd{-1, POLLIN, 0}};
  if (!unshown.empty()) what[1].fd = outlet.fd();
  if (unshown.size() < most_unshown) what[2].fd = poller.get();
  while (::poll(what.data(), what.size(), -1) < 0 && errno == EINTR) {
  }
  return what[0].revents == 0;
}

StderrTap::Shared::Turn StderrTap::Shared::read_some() {
  std::array<epoll_event, 32> events;
  const int count = ::epoll_wait(poller.get(), events.data(), static_cast<int>(events.size()), 0);
  Turn turn;
  for (int i = 0; i < count; ++i) {
    const std::size_t got = take(events[static_cast<std::size_t>(i)].data.u64);
    turn.bytes += got;
    turn.crowded = turn.crowded || got >= half_pipe;
  }
  turn.quiet = count > 0 && turn.bytes == 0;
  return turn;
}

// A worker that writes each line by itself at full speed does not wake us for each. The end of the job does. A pipe
// that was half full is full soon.
void StderrTap::Shared::let_gather(const Turn& turn) {
  const Duration pause = pace.after(turn.bytes, turn.crowded, now());
  if (turn.crowded || pause <= Duration::zero()) return;
  pollfd end{stop.get(), POLLIN, 0};
  const timespec time{0, static_cast<long>(pause.count())};
  ::ppoll(&end, 1, &time, nullptr);
}

// A line that a stream gives in several pieces stays whole, if the rest comes at once. A pipe gives all that is there,
// and a program that fills whole blocks must not wait for us between them.
std::size_t StderrTap::Shared::take(std::size_t number) {
  Stream& stream = streams[number];
  const std::size_t full = stream.terminal ? full_piece : one_read;
  const int patience_ms = stream.terminal ? rest_of_line_ms : 0;
  std::size_t all = 0;
  while (true) {
    const std::size_t got = take_piece(stream);
    all += got;
    const bool more = got >= full && stream.tail.back() != '\n' && all < longest_line;
    if (!more || !is_readable(stream.reader.get(), patience_ms)) return all;
  }
}

// Each end is an event of its own, and many at once would cost their starts and ends what two processors have.
void StderrTap::Shared::let_others_end() const {
  pollfd end{stop.get(), POLLIN, 0};
  ::poll(&end, 1, ends_together_ms);
}

std::size_t StderrTap::Shared::take_piece(Stream& stream) {
  std::array<char, one_read> bytes;
  {
    const std::lock_guard lock(mutex);
    reading = true;
  }
  const ssize_t got = ::read(stream.reader.get(), bytes.data(), bytes.size());
  const bool over = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
  const std::string_view piece(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  keep(stream, piece);
  if (!piece.empty() && stream.listener.ear) stream.listener.ear(piece);             // only now: it may take its time
  if (over) ::epoll_ctl(poller.get(), EPOLL_CTL_DEL, stream.reader.get(), nullptr);  // all that could write have ended
  return piece.size();
}

// What was read, which may be nothing.
void StderrTap::Shared::keep(Stream& stream, std::string_view piece) {
  const std::lock_guard lock(mutex);
  reading = false;
  received.notify_all();
  if (piece.empty()) return;
  if (piece.size() >= kept) stream.tail.clear();
  if (stream.tail.size() + piece.size() > 2 * kept) stream.tail.erase(0, stream.tail.size() - kept);
  stream.tail += piece;
  if (stream.listener.is_shown ? stream.listener.is_shown() : stream.shown) unshown += piece;
  if (stream.listener.tally) stream.listener.tally->take(piece, now());
}

void StderrTap::Shared::take_rest() {
  for (Stream& stream : streams) {
    std::size_t taken = 0;
    while (taken < most_at_end && is_readable(stream.reader.get(), 0)) {
      const std::size_t got = take_piece(stream);
      if (got == 0) break;
      taken += got;
      show(true);
    }
  }
}

// `all`: waits until it is done.
void StderrTap::Shared::show(bool all) {
  if (unshown.empty()) return;
  if (terminal) fit_terminals();
  std::string_view rest = unshown;
  while (!rest.empty()) {
    if ((all || !outlet.prompt()) && !outlet.is_ready(all ? never : now())) break;
    const auto done = outlet.put(outlet.first_large_piece(rest));
    if (!done && !all) break;
    if (!done) continue;
    if (errno != 0 && errno != EPIPE && errno != ECONNRESET) {
      error = errno;
      lost += *done;
      if (const auto& tally = streams.front().listener.tally) tally->lose(*done);  // whose they are is not known
    }
    on_shown(rest[*done - 1] == '\n');
    rest.remove_prefix(*done);
    last_progress = now();
  }
  unshown.erase(0, unshown.size() - rest.size());
}

void StderrTap::Shared::fit_terminals() {
  if (now() < next_size) return;
  next_size = later(now(), between_sizes);
  winsize own{};
  if (::ioctl(console, TIOCGWINSZ, &own) != 0) return;
  if (own.ws_row == size.ws_row && own.ws_col == size.ws_col) return;
  size = own;
  for (const Stream& stream : streams)
    if (stream.terminal) (void)::ioctl(stream.reader.get(), TIOCSWINSZ, &size);
}

// ---- the owner

StderrTap::StderrTap(asio::any_io_executor executor, Shown by, std::function<void(bool ends_line)> on_shown)
    : shared_(std::make_shared<Shared>(std::move(executor), by, std::move(on_shown))) {}

StderrTap::~StderrTap() = default;

Result<Fd> StderrTap::add(bool shown, StreamListener listener) {
  Shared::Stream stream;
  stream.shown = shown;
  stream.terminal = shown && shared_->terminal;
  auto writer = stream.terminal ? make_terminal(stream.reader, shared_->name) : make_pipe(stream.reader, shared_->name);
  if (!writer) return writer.error();
  ::fcntl(stream.reader.get(), F_SETFL, O_NONBLOCK);
  if (!stream.terminal && *shared_->large_pipes > 0) {
    --*shared_->large_pipes;
    (void)::fcntl(stream.reader.get(), F_SETPIPE_SZ, large_pipe);
  }
  if (listener.tally) listener.tally->begin();
  stream.listener = std::move(listener);
  shared_->streams.push_back(std::move(stream));
  return writer;
}

Status StderrTap::begin() {
  shared_->fit_terminals();
  if (!shared_->watch_all())
    return Error{ErrorCode::system, fmt::format("cannot make an epoll for the workers' {}", shared_->name)};
  try {
    std::thread([shared = shared_] {
      shared->run();
      asio::post(shared->executor, [shared] {
        shared->running = false;
        shared->ended.cancel();
      });
    }).detach();
  } catch (const std::system_error& error) {
    return thread_refused(fmt::format("the workers' {}", shared_->name), error.code());
  }
  shared_->running = true;
  return {};
}

std::string StderrTap::tail(int stream) const {
  const Shared::Stream& wanted = shared_->streams.at(static_cast<std::size_t>(stream));
  std::unique_lock lock(shared_->mutex);
  // While the console is held and nothing more is kept for it, nothing is read either.
  const auto settled = [&] { return !shared_->reading && (shared_->is_full || !is_readable(wanted.reader.get(), 0)); };
  shared_->received.wait_for(lock, until_settled, settled);
  const std::string_view tail = wanted.tail;
  return std::string(tail.substr(tail.size() - std::min(tail.size(), kept)));
}

void StderrTap::hurry() {
  shared_->hurried = true;
  shared_->ended.cancel();
}

asio::awaitable<StderrTap::Outcome> StderrTap::drain(Duration patience, Duration most) {
  const std::uint64_t one = 1;
  (void)!::write(shared_->stop.get(), &one, sizeof one);
  const Time start = now();
  shared_->hurried = false;
  bool stalled = false;
  while (shared_->running && !shared_->hurried && now() < later(start, most)) {
    const Time give_up = later(std::max(start, shared_->last_progress.load()), patience);
    stalled = now() >= give_up;
    if (stalled) break;
    shared_->ended.expires_at(to_steady(std::min(give_up, later(start, most))));
    (void)co_await shared_->ended.async_wait(as_values);
  }
  co_return Outcome{!shared_->running, stalled, shared_->lost, std::strerror(shared_->error)};
}

}  // namespace launch

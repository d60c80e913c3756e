#include "launch/io/log_relay.hpp"

#include "launch/core/logs/read_pace.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/files.hpp"
#include "launch/io/log.hpp"
#include "launch/io/log_exchange.hpp"
#include "launch/io/log_file.hpp"
#include "launch/io/thread_error.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <boost/asio/post.hpp>

namespace launch {
namespace asio = boost::asio;

namespace {

constexpr std::size_t read_size = std::size_t{256} * 1024;
constexpr std::size_t large_piece = std::size_t{16} * 1024;
constexpr int pipe_size = 256 * 1024;                              // so that a burst of a worker does not wait for us
constexpr std::size_t most_large_pipes = 64;                       // the kernel allows a user 64 MiB of pipes
constexpr Duration between_looks = std::chrono::milliseconds(50);  // whether files have all, if nobody waits for more
constexpr std::uint64_t stop_mark = ~std::uint64_t{0};

Error cannot_make(const char* what) {
  return Error{ErrorCode::system, fmt::format("cannot make {} for a worker's output: {}", what, why_not_opened(errno))};
}

}  // namespace

// What the threads and their owner share; it lives until all of them have ended.
struct LogRelay::Shared {
  struct Stream {
    std::unique_ptr<LogFile> file;
    Fd reader;  // of the worker's pipe; none for a file that consoles write to
    std::size_t pipe_size = 0;
    StreamListener listener{};

    void lost(std::uint64_t bytes) const {
      if (listener.tally && bytes > 0) listener.tally->set_lost(bytes);
    }
  };

  Shared(asio::any_io_executor own_executor, FileRules own_rules, LogBacklog::Limits limits)
      : executor(std::move(own_executor)),
        rules(own_rules),
        exchange(limits),
        poller(::epoll_create1(EPOLL_CLOEXEC)),
        stop(::eventfd(0, EFD_CLOEXEC)),
        ended(executor) {}

  // Adds a stream with this file, which is made here; returns its number.
  Result<int> add(const std::string& path, Fd reader, std::optional<int> console) {
    auto file = std::make_unique<LogFile>(path, rules.max_size, rules.max_files);
    if (Status opened = file->open(); !opened) return opened.error();
    const int size = reader.valid() ? ::fcntl(reader.get(), F_GETPIPE_SZ) : 0;
    streams.push_back({std::move(file), std::move(reader), static_cast<std::size_t>(std::max(size, 0)), {}});
    return exchange.add_stream(console);
  }

  bool watch(int fd, std::uint64_t mark) const;
  bool watch_all() const;
  void read_pipes();
  void let_gather(Duration pause) const;
  std::size_t take(std::size_t stream);
  void take_rest();
  void write_files();
  void write_one(const LogBacklog::Write& write);

  asio::any_io_executor executor;
  FileRules rules;
  LogExchange exchange;
  std::vector<Stream> streams;
  std::vector<std::unique_ptr<LogConsole>> consoles;
  Fd poller, stop;
  std::atomic<bool> warned_of_stall = false;
  bool warned_of_loss = false;  // only the writer uses it
  asio::steady_timer ended;     // touched by the owner's thread only
  int running = 0;              // threads except those of consoles; the same
  int showing = 0;              // threads of consoles; the same
  bool hurried = false;         // nobody waits for the rest; the same
};

// ---- the reader

bool LogRelay::Shared::watch(int fd, std::uint64_t mark) const {
  epoll_event event{EPOLLIN, {.u64 = mark}};
  return ::epoll_ctl(poller.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

bool LogRelay::Shared::watch_all() const {
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (streams[i].reader.valid() && !watch(streams[i].reader.get(), i)) return false;
  return watch(stop.get(), stop_mark);
}

void LogRelay::Shared::read_pipes() {
  std::array<epoll_event, 64> events;
  ReadPace pace;
  for (bool stopping = false; !stopping;) {
    const int count = ::epoll_wait(poller.get(), events.data(), static_cast<int>(events.size()), -1);
    if (count < 0 && errno != EINTR) break;
    std::size_t bytes = 0;
    bool crowded = false;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t mark = events[static_cast<std::size_t>(i)].data.u64;
      if (mark == stop_mark) {
        stopping = true;
      } else {
        const std::size_t taken = take(mark);
        bytes += taken;
        crowded = crowded || taken >= streams[mark].pipe_size / 2;
      }
    }
    if (const Duration pause = pace.after(bytes, crowded, now()); !stopping && pause > Duration::zero())
      let_gather(pause);
  }
  take_rest();
}

// During the pause no line wakes us; the end of the job does.
void LogRelay::Shared::let_gather(Duration pause) const {
  pollfd end{stop.get(), POLLIN, 0};
  const timespec time{0, static_cast<long>(pause.count())};
  ::ppoll(&end, 1, &time, nullptr);
}

// Takes only what is in the pipes now, because a process that a worker left behind may go on writing for ever.
void LogRelay::Shared::take_rest() {
  for (std::size_t i = 0; i < streams.size(); ++i) {
    for (std::size_t rest = bytes_waiting(streams[i].reader.get()); rest > 0;) {
      const std::size_t taken = take(i);
      if (taken == 0) break;
      rest -= std::min(rest, taken);
    }
  }
}

// Returns how many bytes came.
std::size_t LogRelay::Shared::take(std::size_t stream) {
  exchange.await_room(static_cast<int>(stream));
  exchange.mark_reading(true);
  const int fd = streams[stream].reader.get();
  std::string bytes(std::clamp<std::size_t>(bytes_waiting(fd), 1, read_size), '\0');
  const ssize_t got = ::read(fd, bytes.data(), bytes.size());
  LogBacklog::Bytes heard;
  if (got > 0) {
    bytes.resize(static_cast<std::size_t>(got));
    const StreamListener& listener = streams[stream].listener;
    if (listener.tally) listener.tally->take(bytes, now());
    heard = exchange.receive(static_cast<int>(stream), std::move(bytes));
  }
  if (got == 0) ::epoll_ctl(poller.get(), EPOLL_CTL_DEL, fd, nullptr);  // all processes that could write have ended
  exchange.mark_reading(false);
  const StreamEar& ear = streams[stream].listener.ear;
  if (heard && ear) ear(*heard);  // only now: it may take its time
  if (warned_of_stall) streams[stream].lost(exchange.lost(static_cast<int>(stream)));
  if (!warned_of_stall && exchange.stalled()) {
    warned_of_stall = true;
    log_warning(fmt::format("the file system of {} does not answer: the job goes on, and log lines may be lost",
                            streams[stream].file->path()));
  }
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// ---- the writer

void LogRelay::Shared::write_files() {
  while (const auto write = exchange.next_write()) write_one(*write);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    LogBacklog::Write nothing;
    nothing.stream = static_cast<int>(i);
    LogBacklog::Written result;
    streams[i].file->finish(exchange.end(nothing.stream), result);
    exchange.wrote(nothing, result);
    streams[i].file->close();  // it may ask a file server; all consoles have ended
  }
}

void LogRelay::Shared::write_one(const LogBacklog::Write& write) {
  LogFile& file = *streams[static_cast<std::size_t>(write.stream)].file;
  LogBacklog::Written result;
  std::uint64_t offset = write.offset;
  const auto append = [&](std::string_view bytes) {
    file.append(offset, bytes, result);
    offset += bytes.size();
  };
  std::string small;  // small pieces are written together
  for (const LogBacklog::Bytes& bytes : write.bytes) {
    if (bytes->size() < large_piece) small += *bytes;
    if (small.size() >= large_piece || bytes->size() >= large_piece) append(std::exchange(small, {}));
    if (bytes->size() >= large_piece) append(*bytes);
  }
  append(small);
  exchange.wrote(write, result);
  if (result.extents.bytes() != write.size)
    streams[static_cast<std::size_t>(write.stream)].lost(exchange.lost(write.stream));
  if (result.extents.bytes() == write.size || warned_of_loss || warned_of_stall) return;
  warned_of_loss = true;
  log_warning(
      fmt::format("log lines are lost because {} cannot be written: {}; the job goes on", file.path(), file.reason()));
}

// ---- the owner

LogRelay::LogRelay(asio::any_io_executor executor, FileRules rules, LogBacklog::Limits limits)
    : shared_(std::make_shared<Shared>(std::move(executor), rules, limits)) {}

LogRelay::~LogRelay() = default;

Result<int> LogRelay::add_console(ConsoleStyle style, const std::string& filtered_file) {
  std::optional<int> filtered;
  if (!style.filters.empty()) {
    const auto added = shared_->add(filtered_file, Fd(), std::nullopt);
    if (!added) return added.error();
    filtered = *added;
  }
  const int number = static_cast<int>(shared_->consoles.size());
  shared_->consoles.push_back(std::make_unique<LogConsole>(std::move(style), shared_->exchange, number, filtered));
  return number;
}

Result<LogRelay::Added> LogRelay::add_stream(int local_rank, const std::string& path, std::optional<int> console,
                                             StreamListener listener) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return cannot_make("a pipe");
  Fd reader(ends[0]);
  Fd writer(ends[1]);
  ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
  if (shared_->streams.size() < most_large_pipes) (void)::fcntl(writer.get(), F_SETPIPE_SZ, pipe_size);
  const auto stream = shared_->add(path, std::move(reader), console);
  if (!stream) return stream.error();
  Shared::Stream& added = shared_->streams.back();
  if (console)
    shared_->consoles.at(static_cast<std::size_t>(*console))
        ->add_stream(*stream, local_rank, *added.file, added.reader.get());
  if (listener.tally) listener.tally->begin();
  added.listener = std::move(listener);
  return Added{*stream, std::move(writer), added.file->times()};
}

Status LogRelay::begin() {
  if (!shared_->watch_all()) return cannot_make("an epoll");
  try {
    start_threads();
  } catch (const std::system_error& error) {
    // The writer waits for all givers, also for consoles that have no thread.
    for (auto i = static_cast<std::size_t>(shared_->showing); i < shared_->consoles.size(); ++i)
      shared_->exchange.close();
    return thread_refused("the workers' output", error.code());
  }
  return {};
}

void LogRelay::start_threads() {
  const auto start = [this](int& count, auto work) {
    std::thread([shared = shared_, &count, work] {
      work(*shared);
      asio::post(shared->executor, [shared, &count] {
        --count;
        shared->ended.cancel();
      });
    }).detach();
    ++count;  // only now, because starting it may fail
  };
  shared_->exchange.open(1 + static_cast<int>(shared_->consoles.size()));
  start(shared_->running, [](Shared& shared) {
    shared.read_pipes();
    shared.exchange.close_input();
    shared.exchange.close();
  });
  start(shared_->running, [](Shared& shared) { shared.write_files(); });
  for (std::size_t i = 0; i < shared_->consoles.size(); ++i) {
    start(shared_->showing, [i](Shared& shared) {
      shared.consoles[i]->run();
      shared.exchange.close();
    });
  }
}

std::string LogRelay::tail(int stream) const {
  const int fd = shared_->streams.at(static_cast<std::size_t>(stream)).reader.get();
  return shared_->exchange.tail(stream, [fd] { return bytes_waiting(fd) == 0; });
}

void LogRelay::hurry() {
  shared_->hurried = true;
  shared_->ended.cancel();
}

asio::awaitable<LogRelay::Outcome> LogRelay::drain(Duration patience, Duration most) {
  const std::uint64_t one = 1;
  (void)!::write(shared_->stop.get(), &one, sizeof one);
  const Time start = now();
  const auto written = [this] { return shared_->running == 0 || shared_->exchange.all_written(); };
  Outcome outcome;
  shared_->hurried = false;
  while (shared_->running + shared_->showing > 0) {
    const Time due = shared_->hurried ? now() : later(start, most);
    const bool read = shared_->running < 2;  // one of these threads reads, the other one writes
    if (now() >= due && read && written()) break;
    const Time give_up = later(std::max(start, shared_->exchange.last_progress()), patience);
    outcome.stalled = now() >= give_up;
    if (outcome.stalled) break;
    shared_->ended.expires_at(to_steady(std::min(give_up, std::max(due, later(now(), between_looks)))));
    (void)co_await shared_->ended.async_wait(as_values);
  }
  outcome.shown = shared_->showing == 0;
  outcome.written = written();
  for (std::size_t i = 0; i < shared_->streams.size(); ++i) {
    const int stream = static_cast<int>(i);
    const std::uint64_t lost = shared_->exchange.lost(stream);
    if (lost == 0) continue;
    shared_->streams[i].lost(lost);
    const std::string reason = outcome.written ? shared_->streams[i].file->reason() : "the file system did not answer";
    outcome.losses.push_back({stream, lost, reason});
  }
  for (const auto& console : shared_->consoles)
    if (LogConsole::Loss loss = console->loss(); loss.bytes > 0) outcome.unshown.push_back(std::move(loss));
  co_return outcome;
}

}  // namespace launch

#include "launch/io/log_pump.hpp"

#include "launch/core/line_router.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <boost/asio/post.hpp>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration longest_hold = 200ms;  // of an unfinished line
constexpr Duration progress_hold = 5s;    // of one that is rewritten again and again
constexpr Duration look_again = 100ms;    // where the system gives us no inotify
constexpr std::size_t read_size = std::size_t{64} * 1024;

// Where lines go that several files share: written in batches, given up when nobody reads any more.
class LineSink {
 public:
  explicit LineSink(int fd) : fd_(fd) {}

  void take(std::string_view line) {
    batch_ += line;
    if (batch_.size() >= read_size) write();
  }
  void write() {
    if (!batch_.empty() && !closed_) closed_ = !write_all(fd_, batch_);
    batch_.clear();
  }

 private:
  int fd_;
  std::string batch_;
  bool closed_ = false;
};

// One followed file: how far it has been read, and what is held back of its last line.
struct Follower {
  Follower(const FollowedFile& file, LineSink& console_sink, LineSink* filtered_sink)
      : fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC)),
        router(file.prefix),
        prefix_size(file.prefix.size()),
        filters(file.filters),
        console(console_sink),
        filtered(filtered_sink) {}

  void give(std::string_view line) {
    console.take(line);
    gave = true;
    if (filtered == nullptr) return;
    // Of the worker's own words, not of the prefix.
    const std::string_view words = line.substr(prefix_size);
    const auto holds = [&](const std::string& text) { return words.find(text) != std::string_view::npos; };
    if (std::any_of(filters.begin(), filters.end(), holds)) filtered->take(line);
  }

  // One chunk, so that a worker that never stops writing does not silence the others. True when there may be more.
  bool read_on(Time when) {
    std::array<char, read_size> chunk;
    ssize_t got = 0;
    do {
      got = ::read(fd.get(), chunk.data(), chunk.size());
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    const bool held = router.holds();
    gave = false;
    router.feed({chunk.data(), static_cast<std::size_t>(got)}, [this](std::string_view line) { give(line); });
    if (router.holds() && (gave || !held)) held_since = when;
    return static_cast<std::size_t>(got) == chunk.size();
  }

  Time held_until() const {
    if (!router.holds()) return never;
    return later(held_since, router.rewritten() ? progress_hold : longest_hold);
  }

  void flush() {
    router.flush([this](std::string_view line) { give(line); });
  }

  Fd fd;
  LineRouter router;
  std::size_t prefix_size;
  std::vector<std::string> filters;
  LineSink& console;
  LineSink* filtered;
  Time held_since{};
  bool gave = false;  // a line, by the last read
};

}  // namespace

// What the thread and its owner share; lives as long as the longer of both.
struct LogPump::Shared {
  explicit Shared(const asio::any_io_executor& executor) : ended(executor), stop(::eventfd(0, EFD_CLOEXEC)) {}
  asio::steady_timer ended;  // touched by the owner's thread only
  bool done = false;         // the same
  Fd stop;
};

namespace {

// All that the thread works on.
class PumpThread {
 public:
  PumpThread(std::vector<FollowedFile> files, int stop)
      : stop_(stop), notify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    for (const FollowedFile& file : files) {
      LineSink* const filtered = file.filters.empty() ? nullptr : &sink_of_file(file.filtered_file);
      LineSink& console = consoles_.try_emplace(file.console, file.console).first->second;
      followers_.push_back(std::make_unique<Follower>(file, console, filtered));
      const bool watched = notify_.valid() && ::inotify_add_watch(notify_.get(), file.path.c_str(), IN_MODIFY) >= 0;
      all_watched_ = all_watched_ && watched;
    }
  }

  void run() {
    // What was written before the watch began tells nobody, so a look comes first.
    bool stopping = false;
    while (true) {
      const bool more = pass();
      if (stopping && !more) break;
      stopping = wait(more) || stopping;
    }
    for (const auto& follower : followers_) follower->flush();
    write_sinks();
  }

 private:
  struct SharedFile {
    explicit SharedFile(const std::string& path)
        : fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)), sink(fd.get()) {}
    Fd fd;
    LineSink sink;
  };

  // True when some file has more.
  bool pass() {
    const Time when = now();
    bool more = false;
    for (const auto& follower : followers_) {
      more = follower->read_on(when) || more;
      if (follower->held_until() <= when) follower->flush();
    }
    write_sinks();
    return more;
  }

  void write_sinks() {
    for (auto& [fd, sink] : consoles_) sink.write();
    for (auto& [path, file] : files_) file.sink.write();
  }

  LineSink& sink_of_file(const std::string& path) { return files_.try_emplace(path, path).first->second.sink; }

  // Until something was written, a held line is due, or the end has come: then true. Not at all when there is more.
  bool wait(bool more) {
    Time due = never;
    for (const auto& follower : followers_) due = std::min(due, follower->held_until());
    if (!all_watched_) due = std::min(due, later(now(), look_again));
    int timeout = more ? 0 : -1;
    if (!more && due != never) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - now()).count();
      timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
    }
    std::array<pollfd, 2> fds{pollfd{stop_, POLLIN, 0}, pollfd{notify_.get(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), timeout);
    // Which file it was does not matter: reading one that has not grown costs a system call.
    std::array<char, 4096> events;
    while (::read(notify_.get(), events.data(), events.size()) > 0) {
    }
    return (fds[0].revents & POLLIN) != 0;
  }

  int stop_;
  Fd notify_;
  bool all_watched_ = true;
  std::map<int, LineSink> consoles_;
  std::map<std::string, SharedFile> files_;
  std::vector<std::unique_ptr<Follower>> followers_;
};

}  // namespace

LogPump::LogPump(asio::any_io_executor executor, std::vector<FollowedFile> files)
    : shared_(std::make_shared<Shared>(executor)) {
  auto work = [shared = shared_, executor = std::move(executor), files = std::move(files)] {
    PumpThread(files, shared->stop.get()).run();
    asio::post(executor, [shared] {
      shared->done = true;
      shared->ended.cancel();
    });
  };
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error& error) {
    log_warning(fmt::format("the workers' output goes to its files and is not shown: {}", error.what()));
    shared_->done = true;
  }
}

LogPump::~LogPump() = default;

asio::awaitable<bool> LogPump::drain(Time deadline) {
  const std::uint64_t one = 1;
  (void)!::write(shared_->stop.get(), &one, sizeof one);
  shared_->ended.expires_at(to_steady(deadline));
  if (!shared_->done) (void)co_await shared_->ended.async_wait(as_values);
  co_return shared_->done;
}

}  // namespace launch

// LogBacklog for threads: the lock around it, and how one waits for another. Nothing here reads or writes a file. Used
// by LogRelay's threads. Which bytes are kept and which are counted as lost is decided by LogBacklog; waits end when
// the other side closes.
#pragma once

#include "launch/core/logs/log_backlog.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class LogExchange {
 public:
  explicit LogExchange(LogBacklog::Limits limits) : backlog_(limits) {}

  // Before the threads begin: a stream's number. `console`: which one shows it, from 0; nullopt: none.
  int add_stream(std::optional<int> console);
  // How many threads will call `receive`.
  void open(int givers) { givers_ = givers; }

  // ---- whoever gives bytes
  // Waits until bytes of the stream should be received.
  void await_room(int stream);
  // Around a read of the workers' pipes, so that `tail` misses nothing.
  void mark_reading(bool reading);
  void receive(int stream, std::string bytes);
  // This giver has no more.
  void close();

  // ---- the writer of the files
  // Waits; nullopt: there is nothing more to write.
  std::optional<LogBacklog::Write> next_write();
  void wrote(const LogBacklog::Write& write, const LogBacklog::Written& result);

  // ---- a console
  std::optional<LogBacklog::Show> next_show(int stream) const;
  void shown(int stream, std::uint64_t size);
  // Until there is something new for it since `seen`, which becomes up to date, or `until`.
  void await_news(int console, std::uint64_t& seen, Time until);
  // The reader of the workers' pipes has no more.
  void close_input();
  bool input_closed() const;

  // ---- anybody
  bool reading() const;
  bool stalled() const;
  std::uint64_t end(int stream) const;
  std::uint64_t lost(int stream) const;
  bool all_written() const;
  Time last_progress() const;
  // The last bytes of a stream, once `settled` says that its pipe is empty, or after a moment.
  std::string tail(int stream, const std::function<bool()>& settled);

 private:
  mutable std::mutex mutex_;
  std::condition_variable room_, written_, news_, received_;
  LogBacklog backlog_;
  std::vector<std::optional<int>> console_of_;  // by stream
  std::vector<std::uint64_t> news_of_;          // by console: counts up
  int givers_ = 1;
  bool reading_ = false;  // bytes may be between a pipe and us
  bool input_closed_ = false;
};

}  // namespace launch

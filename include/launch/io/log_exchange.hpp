// LogBacklog for threads: the lock around it, and the waits of one thread for another. Nothing here reads or writes a
// file. LogRelay's threads use it. LogBacklog decides which bytes are kept and which are counted as lost. Waits end
// when the other side closes.
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

  // Adds a stream, before the threads begin; returns its number. `console`: which one shows it, from 0; nullopt: none.
  int add_stream(std::optional<int> console);
  // How many threads will call `receive`.
  void open(int givers) { givers_ = givers; }

  // ---- whoever gives bytes
  // Waits until bytes of the stream should be received.
  void await_room(int stream);
  // Called around a read of the workers' pipes, so that tail() misses nothing.
  void mark_reading(bool reading);
  // Returns what it keeps.
  LogBacklog::Bytes receive(int stream, std::string bytes);
  // The calling thread has no more bytes to give.
  void close();

  // ---- the writer of the files
  // Waits for the next write; nullopt: there is nothing more to write.
  std::optional<LogBacklog::Write> next_write();
  void wrote(const LogBacklog::Write& write, const LogBacklog::Written& result);

  // ---- a console
  std::optional<LogBacklog::Show> next_show(int stream) const;
  void shown(int stream, std::uint64_t size);
  // Waits until there is something new for the console since `seen`, which becomes up to date, or until `until`.
  void await_news(int console, std::uint64_t& seen, Time until);
  // The reader of the workers' pipes has no more bytes.
  void close_input();
  bool input_closed() const;

  // ---- anybody
  bool reading() const;
  bool stalled() const;
  std::uint64_t end(int stream) const;
  std::uint64_t lost(int stream) const;
  bool all_written() const;
  Time last_progress() const;
  // The last bytes of a stream. Waits until `settled` says that its pipe is empty, but only for a moment.
  std::string tail(int stream, const std::function<bool()>& settled);

 private:
  mutable std::mutex mutex_;
  std::condition_variable room_, written_, news_, received_;
  LogBacklog backlog_;
  std::vector<std::optional<int>> console_of_;  // by stream
  std::vector<std::uint64_t> news_of_;          // by console: counts what is new
  int givers_ = 1;
  bool reading_ = false;  // bytes may be on their way from a pipe to us
  bool input_closed_ = false;
};

}  // namespace launch

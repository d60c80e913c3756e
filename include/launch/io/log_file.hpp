// The file of one stream, and the older ones that it has replaced: PATH, PATH.1 the one before, PATH.2 older.
//
// Files are cut between two lines if possible, so that a full disk or the next file tears no line. A write may take as
// long as the file system likes. Only one thread uses it, except for functions that say otherwise.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/logs/log_backlog.hpp"
#include "launch/core/logs/log_cut.hpp"
#include "launch/core/logs/log_times.hpp"
#include "launch/io/fd.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace launch {

// When the parts of the newest file were written. Any thread may use it, and nothing of it waits for a disk.
class FileTimes {
 public:
  void wrote(std::uint64_t position, Time at) {
    const std::lock_guard lock(mutex_);
    times_.wrote(position, at);
  }
  void cut(std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    times_.cut(position);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    times_.clear();
  }
  std::optional<std::uint64_t> begin_of(Time since) const {
    const std::lock_guard lock(mutex_);
    return times_.begin_of(since);
  }
  bool is_in_older_file(Time since) const {
    const std::lock_guard lock(mutex_);
    return times_.is_in_older_file(since);
  }

 private:
  mutable std::mutex mutex_;
  LogTimes times_;
};

class LogFile {
 public:
  // max_size: bytes after which the next file begins; 0: never. max_files: how many are kept, this one included.
  LogFile(std::string path, std::uint64_t max_size, int max_files);

  // Makes the file, empty.
  Status open();
  // Appends bytes of the stream from `offset` on. Those between the last call's bytes and these have been lost. What
  // becomes of them is added to `result`.
  void append(std::uint64_t offset, std::string_view bytes, LogBacklog::Written& result);
  // No more bytes will come. Says in the file how much was lost at its end, if that can be written.
  void finish(std::uint64_t end, LogBacklog::Written& result);
  // Nobody reads back any more.
  void close() { file_.reset(); }
  // Why bytes were lost, if some were. Any thread may call it.
  std::string reason() const;
  const std::string& path() const { return path_; }
  // Lives as long as somebody has it.
  std::shared_ptr<const FileTimes> times() const { return times_; }

  // Reads what can be read of `piece` into `bytes`, which is made to fit. Any thread may call it.
  void read_back(const LogExtents::Piece& piece, std::string& bytes) const;

 private:
  using Written = LogBacklog::Written;

  void write(std::uint64_t offset, std::string_view bytes, Written& result);
  void drop_open_line(std::uint64_t end, Written& result);
  void cut_off() const;
  std::string note(std::uint64_t lost) const;
  bool rotate(Written& result);
  std::string name(int age) const;

  std::string path_;
  std::uint64_t max_size_;
  int max_files_;
  FileFill fill_;
  std::uint64_t next_ = 0;  // offset behind the last byte that came
  std::uint64_t gap_ = 0;   // bytes lost since the last that was written
  bool torn_ = false;       // the next byte may continue a line that is lost
  std::atomic<int> error_ = 0;
  int number_ = 0;  // of the present file, counted from 0
  std::shared_ptr<FileTimes> times_ = std::make_shared<FileTimes>();

  // For read_back(): the names of the files, and which one is the present one, may change while it looks for a file.
  mutable std::mutex mutex_;
  Fd file_;
};

}  // namespace launch

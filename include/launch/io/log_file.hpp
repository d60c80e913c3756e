// The file of one stream, and those that it made room for: PATH, PATH.1 the one before, PATH.2 older.
//
// Written between two line ends wherever possible, so that no line is torn by a full disk or by the next file. A write
// may take as long as the file system likes. Used by one thread but for what says otherwise.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/logs/log_backlog.hpp"
#include "launch/core/logs/log_cut.hpp"
#include "launch/io/fd.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace launch {

class LogFile {
 public:
  // max_size: bytes after which the next file begins; 0: never. max_files: kept, this one included.
  LogFile(std::string path, std::uint64_t max_size, int max_files);

  // Makes the file, empty.
  Status open();
  // Bytes of the stream from `offset` on. Those between the last call's and these have been lost.
  // What came of it is added to `result`.
  void append(std::uint64_t offset, std::string_view bytes, LogBacklog::Written& result);
  // No more will come; says in the file how much was lost at its end, where that can be said.
  void finish(std::uint64_t end, LogBacklog::Written& result);
  // Nobody reads back any more.
  void close() { file_.reset(); }
  // Any thread: why bytes were lost, if some were.
  std::string reason() const;
  const std::string& path() const { return path_; }

  // Any thread: what of `piece` can be read, into `bytes`, which is made to fit.
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
  bool torn_ = false;       // the next byte may go on with a line that is lost
  std::atomic<int> error_ = 0;
  int number_ = 0;  // of the present file, counted from 0

  // For read_back: what a file is called changes while it is looked for, and which one is the present one.
  mutable std::mutex mutex_;
  Fd file_;
};

}  // namespace launch

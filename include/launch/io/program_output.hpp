// What one program writes, through a pipe: the owner gets the bytes on the loop, and a file gets them on a thread that
// may wait for a disk. For a program of launch's own, such as a command that runs before the workers; workers have
// io/log_relay. Only errors of the pipe are returned; a file that cannot be written is warned of once, and costs only
// the file. It starts and ends no program.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/io/disk_thread.hpp"
#include "launch/io/fd.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace launch {

class ProgramOutput : public std::enable_shared_from_this<ProgramOutput> {
 public:
  using Take = std::function<void(std::string_view bytes)>;

  // Begins to read. `take` is called until rest() has returned.
  static Result<std::shared_ptr<ProgramOutput>> open(const boost::asio::any_io_executor& executor, Take take);
  ProgramOutput(const boost::asio::any_io_executor& executor, Fd reader, Fd writer, Take take);

  // Everything goes to this file, too, which is made new or goes on. `disk` must outlive this object. While the disk
  // stalls, 16 MiB are kept; what comes then is missing in the file.
  void keep_in(const std::string& path, DiskThread& disk);
  // The end for the program, once.
  Fd writer() { return std::move(writer_); }
  // To be called when the program has ended and nobody here holds the writer: takes what is left, and waits for the
  // file. Others may hold the pipe for longer: what they write half a second later is not read.
  boost::asio::awaitable<void> rest();

 private:
  struct File;

  boost::asio::awaitable<void> read(std::shared_ptr<ProgramOutput> self);
  std::size_t read_some(std::size_t most);
  void take(std::string_view bytes);

  boost::asio::posix::stream_descriptor pipe_;
  Fd writer_;
  Take take_;
  boost::asio::steady_timer ended_;  // of read()
  bool reading_ = true;
  std::shared_ptr<File> file_;  // shared with the thread; null: there is none
  DiskThread* disk_ = nullptr;
};

}  // namespace launch

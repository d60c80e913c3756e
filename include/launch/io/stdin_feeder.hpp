// Gives every worker a copy of its own of launch's standard input (--stdin=all).
//
// A regular file is opened anew for each, at the position that launch has it at. Anything else is read here and written
// to one pipe a worker: nothing blocks, at most 64 KiB are held, and the slowest worker paces; one that has ended or
// closed its input holds nobody. Nothing is read while there is no worker to take it, nor from a terminal where launch
// is in the background. Flags of the input, which others share, stay as they are. What may be a file is read on a
// thread (io/disk_thread).
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/io/fd.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <memory>
#include <vector>

#include <sys/types.h>

namespace launch {

class StdinFeeder {
 public:
  // `source` stays open. `owner` is the process that the user's shell knows: it is in the foreground or not.
  StdinFeeder(boost::asio::any_io_executor executor, int source, pid_t owner);
  ~StdinFeeder();
  StdinFeeder(const StdinFeeder&) = delete;
  StdinFeeder& operator=(const StdinFeeder&) = delete;

  // The source opened anew so often, if it is a regular file that can be; else none. It may wait for a disk, so this is
  // for any thread.
  static std::vector<Fd> open_again_each(int source, std::size_t count);

  // Takes back the copies that were opened before, and what is held for them is gone.
  void begin();
  // A worker's copy of what comes from now on, read here.
  Result<Fd> open_copy();

 private:
  class Feed;

  std::shared_ptr<Feed> feed_;
};

}  // namespace launch

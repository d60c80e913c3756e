// Gives every worker a copy of its own of launch's standard input (--stdin=all).
//
// A regular file is opened again for each worker, at the position where launch has it. Any other input is read here and
// written to one pipe for each worker: nothing blocks, at most 64 KiB are held, and the slowest worker sets the pace. A
// worker that has ended or closed its input holds up nobody. Nothing is read while no worker can take it, nor from a
// terminal while launch is in the background there. Flags of the input, which others share, stay as they are. Input
// that may be a file is read on a thread (io/disk_thread).
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/io/fd.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace launch {

class StdinFeeder {
 public:
  // `source` stays open. `owner` is the process that the user's shell knows, and has in the foreground or not. `name`:
  // what a warning calls the input.
  StdinFeeder(boost::asio::any_io_executor executor, int source, pid_t owner,
              std::string name = "the standard input, of which each worker gets a copy (--stdin=all),");
  ~StdinFeeder();
  StdinFeeder(const StdinFeeder&) = delete;
  StdinFeeder& operator=(const StdinFeeder&) = delete;

  // Opens `source` again `count` times, if it is a regular file and that is possible; otherwise returns none. It may
  // wait for a disk, so any thread may call it.
  static std::vector<Fd> open_again_each(int source, std::size_t count);

  // Others get the same input at the pace of this reader (launch --hosts): what comes when no worker takes any more is
  // read, and dropped.
  void hold_up_nobody();
  // Takes back the copies that were opened before; what is held for them is dropped.
  void begin();
  // Opens a worker's copy of the input that is read here from now on.
  Result<Fd> open_copy();

 private:
  class Feed;

  std::shared_ptr<Feed> feed_;
};

}  // namespace launch

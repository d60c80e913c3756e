// Copies what workers write to their files to the console, as whole lines with a prefix, on a thread of its own: the
// console, or a file system, may stall for as long as it likes without holding up the job.
//
// Woken by inotify. Never holds the only copy of anything: the files are the workers' own.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "launch/core/time.hpp"

#include <memory>
#include <string>
#include <vector>

namespace launch {

// A worker's stream that is followed.
struct FollowedFile {
  std::string path;
  int console = 1;  // the descriptor its lines go to
  std::string prefix;
  std::vector<std::string> filters;  // a line that holds one of these goes to `filtered_file` as well
  std::string filtered_file;
};

class LogPump {
 public:
  // Begins to follow; the files exist. The thread starts with the signal mask of the caller.
  LogPump(boost::asio::any_io_executor executor, std::vector<FollowedFile> files);
  // Leaves the thread behind when it has not ended: the console may have stalled for ever.
  ~LogPump();
  LogPump(const LogPump&) = delete;
  LogPump& operator=(const LogPump&) = delete;

  // Nobody writes any more: shows what is left and ends. False when the console had not taken all by the deadline.
  boost::asio::awaitable<bool> drain(Time deadline);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace launch

// What can be seen of a running worker from outside: the time that it and its children have had on processors, their
// memory, and the last line in the files of its output. For launch-ctl, on a thread that may wait for a disk. It
// changes nothing, and leaves out what cannot be seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace launch {

struct WorkerSight {
  double cpu_s = 0;  // of all processors, since the processes were started
  std::int64_t memory_bytes = 0;
  std::vector<pid_t> family;  // its processes, itself first
  bool has_gpu = false;       // one of them has a GPU of NVIDIA open
  std::string last_line;
  std::optional<double> last_line_age_s;  // since the file was written last
};

// `files`: those that the worker's output goes to.
WorkerSight look_at_worker(pid_t pid, const std::vector<std::string>& files);

}  // namespace launch

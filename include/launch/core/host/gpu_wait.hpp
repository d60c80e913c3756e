// Which memory of GPUs the workers of the last attempt still hold, so that the next ones had better wait
// (--wait-gpu-memory). A driver frees it some time after a process has ended, if it was killed in the middle of its
// work. Pure: app/gpu_wait asks again and again, and counts the time.
#pragma once

#include "launch/core/host/gpu_facts.hpp"

#include <functional>
#include <string>
#include <vector>

namespace launch {

// What is known of the last attempt and of the host.
struct GpuUse {
  GpuFacts before;                  // the GPUs as they were before the first start
  std::vector<pid_t> last;          // the workers of the last attempt
  std::function<bool(pid_t)> runs;  // there is such a process; it is another's, since all of ours have ended
};

// What is held, as text for the user: "GPU 0 by pid 7"; empty: all is free. A GPU is free if none of the workers and no
// other process that has ended is on it, and if its memory is what it was, with a margin of 5 % of all it has. Its
// memory does not count if another's process has come to it meanwhile.
std::string held_gpu_memory(const GpuFacts& gpus, const GpuUse& use);

}  // namespace launch

// Which of a user's processes on a host look like what an earlier job has left there: workers whose launch or torchrun
// is gone, and whatever holds a GPU. Used by io/host_probe, which reads the processes. Pure; it ends none of them.
// A worker is known by TORCHELASTIC_RUN_ID, which launch and torchrun give it, and which its children inherit.
#pragma once

#include "launch/core/hosts/host_facts.hpp"

#include <string>
#include <vector>

namespace launch {

struct SeenProcess {
  int pid = 0;
  int parent = 0;
  std::string name;     // of its program, at most 15 bytes, as the kernel has it
  std::string command;  // its command line
  std::string run_id;   // TORCHELASTIC_RUN_ID; empty: it has none, or it is another user's
  bool mine = false;    // of this user, on this host
  bool on_gpu = false;
};

// In the order of `all`, which has all processes that can be seen. Not this process, and none above it. Of a worker
// and its children only the worker is told, unless a child holds a GPU.
std::vector<SurveyedProcess> left_overs(const std::vector<SeenProcess>& all, int own_pid);

}  // namespace launch

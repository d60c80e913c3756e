// Asks NVIDIA's management library (libnvidia-ml.so.1, where the system or LD_LIBRARY_PATH finds it) about the GPUs of
// this host. It is loaded at run time, in a process of its own, since it may hang in the driver, print or crash. Errors
// say that it is not here or does not answer; the caller goes on without it.
//
// Source: nvml.h of the drivers 450 to 580, as far as it is used.
#pragma once

#include "launch/core/host/gpu_facts.hpp"
#include "launch/io/side_process.hpp"

#include <vector>

namespace launch {

// Starts that process, and does not wait for it.
Result<SideProcess> ask_gpus();
// Its answer; blocks. ErrorCode::closed: there is no such library, or it finds no driver; timeout: no answer by then.
Result<GpuFacts> answer_of_gpus(SideProcess process, Time deadline);
// Both. Blocks.
Result<GpuFacts> read_gpus(Duration limit);

// True when one of these processes has a GPU of NVIDIA open. Reads /proc.
bool have_gpu_open(const std::vector<pid_t>& pids);

}  // namespace launch

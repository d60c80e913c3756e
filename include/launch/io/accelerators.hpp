// The accelerators of this node, read from what the kernel's drivers show, without starting any vendor's runtime.
//
// `root` is put before each path, so that tests can give a recorded tree. Only devices that this process may open
// count, because a container shows all of the host's devices in /proc and /sys.
#pragma once

#include "launch/core/host/accelerator.hpp"

#include <string>
#include <vector>

namespace launch {

// The kinds that have a device, in the order CUDA, ROCm, Intel, Ascend. How each kind is read:
//   NVIDIA  /proc/driver/nvidia/gpus and /dev/nvidiaN. The management library (NVML) is asked, if it is installed,
//           when these do not tell all: MIG instances, unknown UUIDs, a hidden /proc, WSL. Never with a `root`.
//   AMD     KFD's topology: each node that has SIMD units, integrated GPUs included, as in ROCm.
//   Intel   display controllers of the drivers xe and i915, without the integrated one at 00:02.0; once for each tile.
//   Ascend  /dev/davinciN; their PCI addresses are not known.
std::vector<AcceleratorFamily> read_accelerators(const std::string& root = "");

}  // namespace launch

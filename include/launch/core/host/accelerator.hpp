// The accelerators of one node, and which of them a worker sees. Pure: io/accelerators finds out which there are, and
// they come in as a value; the variables come in as an Environment.
//
// The lists of CUDA and HIP are read as PyTorch reads them before it has touched a device, since torchrun counts that
// way; the others are read as the vendor's runtime does.
#pragma once

#include "launch/core/base/environment.hpp"

#include <string>
#include <vector>

namespace launch {

enum class AcceleratorKind {
  cuda,  // NVIDIA
  rocm,  // AMD
  xpu,   // Intel
  npu,   // Ascend
};

inline const std::vector<AcceleratorKind> all_accelerator_kinds{AcceleratorKind::cuda, AcceleratorKind::rocm,
                                                                AcceleratorKind::xpu, AcceleratorKind::npu};

struct Accelerator {
  std::string pci_address;             // "0000:3b:00.0" in lower case; empty: unknown
  std::string uuid;                    // "GPU-..." in lower case; empty: unknown
  std::vector<std::string> mig_uuids;  // its MIG instances: "MIG-UUID", or "MIG-GPU-UUID/INSTANCE/INSTANCE"

  bool operator==(const Accelerator&) const = default;
};

struct AcceleratorFamily {
  AcceleratorKind kind = AcceleratorKind::cuda;
  std::vector<Accelerator> devices;  // in the order of their PCI addresses; an Intel device once per tile

  bool operator==(const AcceleratorFamily&) const = default;
};

// In the worker's order, by the variables of the kind: CUDA_VISIBLE_DEVICES; ROCR_, HIP_ or CUDA_VISIBLE_DEVICES;
// ZE_AFFINITY_MASK and ZE_FLAT_DEVICE_HIERARCHY; ASCEND_RT_VISIBLE_DEVICES.
//
// A GPU that is divided into MIG instances counts once if no list names its instances, as in torch.cuda.device_count().
// If a list names instances, each is one device, with only its own name in mig_uuids: that is right if every worker is
// given one of them. A single CUDA process that is given the whole list sees only the first.
std::vector<Accelerator> visible_accelerators(const AcceleratorFamily& all, const Environment& env);

// The visible devices of the first family of these kinds that has any: workers are counted by them and bound to them.
std::vector<Accelerator> first_visible(const std::vector<AcceleratorFamily>& families,
                                       const std::vector<AcceleratorKind>& kinds, const Environment& env);

}  // namespace launch

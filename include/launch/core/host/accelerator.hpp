// Accelerators of one node and which of them a worker sees. Pure: what is there comes in as a value from
// io/accelerators, the variables as an Environment.
//
// The lists of CUDA and HIP are read as PyTorch reads them before it has touched a device, since torchrun counts so;
// the others as the vendor's runtime reads them.
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
  std::vector<Accelerator> devices;  // in the order of their PCI addresses; an Intel device once for each of its tiles

  bool operator==(const AcceleratorFamily&) const = default;
};

// In the worker's order, by the variables of the kind: CUDA_VISIBLE_DEVICES; ROCR_, HIP_ or CUDA_VISIBLE_DEVICES;
// ZE_AFFINITY_MASK and ZE_FLAT_DEVICE_HIERARCHY; ASCEND_RT_VISIBLE_DEVICES.
//
// A GPU that is divided into MIG instances counts once where no list names its instances, as torch.cuda.device_count()
// has it. Where a list names instances each is one device, with its own name alone in mig_uuids: right where every
// worker is given one of them. A single CUDA process that is given the whole list sees the first alone.
std::vector<Accelerator> visible_accelerators(const AcceleratorFamily& all, const Environment& env);

// Those of the first family, of these kinds, of which any is visible: what workers are counted by and bound to.
std::vector<Accelerator> first_visible(const std::vector<AcceleratorFamily>& families,
                                       const std::vector<AcceleratorKind>& kinds, const Environment& env);

}  // namespace launch

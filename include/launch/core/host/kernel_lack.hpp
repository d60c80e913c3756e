// What launch would use, and this kernel, or a filter of system calls as containers have, does not give; and what
// launch does instead. io/kernel_probe finds out, --explain says it. Nothing depends on it: each part of io tries what
// it needs, and goes on without.
#pragma once

#include <string>

namespace launch {

enum class KernelPart {
  worker_group,       // a control group of version 2 that launch may make, and that can be ended as a whole
  clone_into_group,   // clone3() with a control group, Linux 5.7
  pidfd_open,         // Linux 5.3
  pidfd_send_signal,  // Linux 5.1
  close_range,        // Linux 5.11, with the flag that is needed
};

struct KernelLack {
  KernelPart part = KernelPart::worker_group;
  std::string reason;  // as errors are called: "Function not implemented"
};

// One sentence without a full stop: what is not there and why, and what follows.
std::string to_text(const KernelLack& lack);

}  // namespace launch

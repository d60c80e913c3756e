// A binding in the form that the kernel takes, and the one function by which a new process binds itself.
//
// The parent prepares it. The child applies it between clone and execve, where only system calls are safe. Both the
// CPUs and the preferred memory outlast execve, and all processes that the worker starts inherit them.
#pragma once

#include "launch/core/host/binding.hpp"

#include <vector>

namespace launch {

struct CpuBinding {
  std::vector<unsigned long> cpu_mask;   // one bit for each CPU; empty: left as it is
  std::vector<unsigned long> node_mask;  // one bit for each NUMA node; empty: left as it is
};

CpuBinding prepare(const Binding& binding);

// Binds the calling thread, and prefers memory of the nodes as long as they have any. Returns 0, or the error of
// binding the CPUs. Memory is only a wish: it is no error if a container forbids it or the kernel cannot do it.
int apply_to_self(const CpuBinding& binding) noexcept;

}  // namespace launch

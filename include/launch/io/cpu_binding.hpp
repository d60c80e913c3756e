// A binding as the kernel takes it, and the one function by which a new process binds itself.
//
// The parent prepares; the child applies between clone and execve, where nothing but system calls is safe. Both the
// CPUs and the preferred memory outlast execve and are handed down to all that the worker starts.
#pragma once

#include "launch/core/host/binding.hpp"

#include <vector>

namespace launch {

struct CpuBinding {
  std::vector<unsigned long> cpu_mask;   // a bit a CPU; empty: left as it is
  std::vector<unsigned long> node_mask;  // a bit a NUMA node; empty: left as it is
};

CpuBinding prepare(const Binding& binding);

// Binds the calling thread, and asks for memory of the nodes as long as they have any. 0, or why the CPUs could not be
// had. Memory is a wish: that a container forbids it or the kernel cannot do it is no error.
int apply_to_self(const CpuBinding& binding) noexcept;

}  // namespace launch

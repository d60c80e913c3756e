// Which CPUs each worker may use. Pure: the topology and the accelerators' NUMA nodes come in, and one set of CPUs per
// local rank comes out.
//
// With accelerators the sets are those of torchrun's --numa-binding. On a node without any, where torchrun refuses, the
// ranks are distributed to the NUMA nodes in contiguous blocks and then bound in the same way.
#pragma once

#include "launch/core/base/error.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

enum class BindingMode {
  node,          // all CPUs of the accelerator's NUMA node
  socket,        // all CPUs of the NUMA nodes in the same package
  exclusive,     // whole cores of the node, shared with no other worker
  core_complex,  // CPUs of the node that share one largest cache; ranks take these groups in turn
};

// node, socket, exclusive, core-complex.
std::optional<BindingMode> parse_binding_mode(std::string_view text);

struct CpuTopology {
  struct Cpu {
    int index = 0;
    int node = 0;
    int package = 0;
    int core = 0;    // the lowest CPU of the same core
    int cache = -1;  // the lowest CPU that shares its largest cache; -1: unknown

    bool operator==(const Cpu&) const = default;
  };
  std::vector<Cpu> cpus;     // of the whole machine, ascending
  std::vector<int> allowed;  // those that this process may use, ascending
};

struct Binding {
  std::vector<int> cpus;          // never empty, ascending
  std::vector<int> memory_nodes;  // the nodes of these CPUs, ascending

  bool operator==(const Binding&) const = default;
};

// One binding per local rank. device_nodes[i] is the NUMA node of the i-th visible accelerator, which belongs to local
// rank i; it is empty on a node without accelerators. The error's message does not name the option: the caller knows
// it.
Result<std::vector<Binding>> plan_binding(BindingMode mode, const CpuTopology& topology,
                                          const std::vector<int>& device_nodes, int nproc);

// A set of CPUs or nodes as the kernel writes it: "0-2,4,6-7". Parts that are not a range are left out.
std::string cpu_ranges(const std::vector<int>& cpus);
std::vector<int> parse_cpu_ranges(std::string_view text);

}  // namespace launch

// CPUs, their nodes, packages, cores and caches, and the nodes of PCI devices, as the kernel shows them in /sys.
//
// `root` is put before each path, so that tests can give a recorded tree. What cannot be read is replaced by the
// simplest machine that fits: one node, one package, a core for each CPU, caches unknown.
#pragma once

#include "launch/core/host/binding.hpp"

#include <string>

namespace launch {

// The CPUs that are online. `allowed` are those of this process's mask; with a recorded tree, all.
CpuTopology read_topology(const std::string& root = "");

// The NUMA node of a PCI device such as "0000:3b:00.0"; 0 if the kernel knows none, as on a machine with one node.
int numa_node_of(const std::string& pci_address, const std::string& root = "");

}  // namespace launch

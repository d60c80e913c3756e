#include "launch/io/cpu_binding.hpp"

#include <cerrno>
#include <climits>

#include <sys/syscall.h>
#include <unistd.h>

namespace launch {
namespace {

// From linux/mempolicy.h; the second came with Linux 5.15. Two numbers are no reason to need libnuma's header.
constexpr int prefer_one_node = 1;
constexpr int prefer_many_nodes = 5;

constexpr std::size_t bits_a_word = sizeof(unsigned long) * CHAR_BIT;

std::vector<unsigned long> mask_of(const std::vector<int>& numbers) {
  std::vector<unsigned long> mask;
  for (const int number : numbers) {
    const auto bit = static_cast<std::size_t>(number);
    if (mask.size() <= bit / bits_a_word) mask.resize(bit / bits_a_word + 1);
    mask[bit / bits_a_word] |= 1UL << bit % bits_a_word;
  }
  return mask;
}

int set_policy(int mode, const std::vector<unsigned long>& nodes) noexcept {
  // The kernel uses one bit less than it is told.
  const unsigned long bits = nodes.size() * bits_a_word + 1;
  return ::syscall(SYS_set_mempolicy, mode, nodes.data(), bits) == 0 ? 0 : errno;
}

}  // namespace

CpuBinding prepare(const Binding& binding) { return {mask_of(binding.cpus), mask_of(binding.memory_nodes)}; }

int apply_to_self(const CpuBinding& binding) noexcept {
  const auto& cpus = binding.cpu_mask;
  if (!cpus.empty() && ::syscall(SYS_sched_setaffinity, 0, cpus.size() * sizeof(unsigned long), cpus.data()) != 0)
    return errno;
  if (binding.node_mask.empty()) return 0;
  const int refused = set_policy(prefer_many_nodes, binding.node_mask);
  // An older kernel takes the lowest of the nodes. Another EINVAL means that a cpuset keeps their memory from us.
  if (refused == EINVAL) set_policy(prefer_one_node, binding.node_mask);
  return 0;
}

}  // namespace launch

#include "launch/io/cpu_binding.hpp"

#include "launch/io/topology.hpp"

#include <array>
#include <cerrno>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch::cpu_binding_test {

using Mask = std::vector<unsigned long>;

// The exit code of a child that runs `body`, which returns it.
template <class Body>
int code_of_child(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<int> cpus_of_self() { return read_topology().allowed; }

TEST(CpuBinding, MasksHaveABitForEachNumber) {
  EXPECT_EQ(prepare({{0, 2, 63}, {1}}).cpu_mask, Mask{0x8000000000000005UL});
  EXPECT_EQ(prepare({{64, 130}, {}}).cpu_mask, (Mask{0, 1, 4}));
  EXPECT_EQ(prepare({{1}, {0, 1}}).node_mask, Mask{3});
  EXPECT_EQ(prepare({{2047}, {}}).cpu_mask.size(), 32U);
  EXPECT_TRUE(prepare({}).cpu_mask.empty());
  EXPECT_TRUE(prepare({}).node_mask.empty());
}

TEST(CpuBinding, TheChildHasTheCpusAndTheParentKeepsItsOwn) {
  const std::vector<int> before = cpus_of_self();
  for (const int cpu : before) {
    const CpuBinding binding = prepare({{cpu}, {0}});
    EXPECT_EQ(code_of_child([&] {
                if (const int error = apply_to_self(binding); error != 0) return error;
                return cpus_of_self() == std::vector<int>{cpu} ? 0 : 255;
              }),
              0)
        << "CPU " << cpu;
  }
  EXPECT_EQ(cpus_of_self(), before);
}

TEST(CpuBinding, AnEmptyBindingChangesNothing) {
  const std::vector<int> before = cpus_of_self();
  const CpuBinding binding = prepare({});
  EXPECT_EQ(code_of_child([&] { return apply_to_self(binding) != 0 ? 1 : cpus_of_self() == before ? 0 : 2; }), 0);
}

TEST(CpuBinding, CpusThatThisMachineLacksAreAnError) {
  const CpuBinding binding = prepare({{100'000}, {}});
  EXPECT_EQ(code_of_child([&] { return apply_to_self(binding); }), EINVAL);
}

TEST(CpuBinding, MemoryThatCannotBeHadIsNoError) {
  const CpuBinding binding = prepare({{cpus_of_self().front()}, {1000}});
  EXPECT_EQ(code_of_child([&] { return apply_to_self(binding); }), 0);
}

TEST(CpuBinding, MemoryIsPreferredFromTheNodesOfTheCpus) {
  constexpr int unknown = 77;
  const CpuBinding binding = prepare({{}, {0}});
  const int code = code_of_child([&] {
    std::array<unsigned long, 1024 / 64> nodes{};
    int mode = 0;
    if (::syscall(SYS_set_mempolicy, 0, nullptr, 0) != 0) return unknown;  // this kernel or container has none
    if (const int error = apply_to_self(binding); error != 0) return error;
    if (::syscall(SYS_get_mempolicy, &mode, nodes.data(), nodes.size() * 64, nullptr, 0) != 0) return unknown;
    return (mode == 1 || mode == 5) && nodes[0] == 1 ? 0 : 255;
  });
  if (code == unknown) GTEST_SKIP() << "memory policies cannot be set here";
  EXPECT_EQ(code, 0);
}

}  // namespace launch::cpu_binding_test

#include "launch/core/host/gpu_wait.hpp"

#include <gtest/gtest.h>

namespace launch::gpu_wait_test {

constexpr std::int64_t mib = 1 << 20;
constexpr pid_t ours = 7;      // a worker of the last attempt
constexpr pid_t others = 8;    // it was there before the first start
constexpr pid_t newcomer = 9;  // it runs, and was not there
constexpr pid_t unknown = 10;  // it does not run any more

GpuFact gpu(std::int64_t used_mib, std::vector<pid_t> pids) {
  GpuFact result{"GPU-1", "A GPU", used_mib * mib, 1000 * mib, 0, {}};
  for (const pid_t pid : pids) result.processes.push_back({pid, mib});
  return result;
}

GpuUse use() {
  const auto runs = [](pid_t pid) { return pid == others || pid == newcomer; };
  return {{gpu(100, {others})}, {ours}, runs};
}

TEST(GpuWait, SaysWhatTheLastAttemptStillHolds) {
  struct Case {
    std::string what;
    GpuFact now;
    std::string held;
  };
  const std::vector<Case> cases = {
      {"nothing has changed", gpu(100, {others}), ""},
      {"less is used", gpu(10, {}), ""},
      {"within the margin", gpu(150, {others}), ""},
      {"beyond the margin", gpu(151, {others}), "GPU 0 with 51 MiB more in use than before"},
      {"a worker is on it", gpu(100, {others, ours}), "GPU 0 by pid 7"},
      {"a child of a worker that has ended", gpu(100, {unknown}), "GPU 0 by pid 10"},
      {"another's process has come", gpu(900, {newcomer}), ""},
      {"another's, and a worker's", gpu(900, {newcomer, ours}), "GPU 0 by pid 7"},
  };
  for (const Case& one : cases) EXPECT_EQ(held_gpu_memory({one.now}, use()), one.held) << one.what;
}

TEST(GpuWait, WhatIsNotKnownIsNotWaitedFor) {
  GpuFact unmeasured = gpu(900, {});
  unmeasured.used_bytes.reset();
  EXPECT_EQ(held_gpu_memory({unmeasured}, use()), "");
  GpuFact new_one = gpu(900, {ours});
  new_one.uuid = "GPU-2";
  EXPECT_EQ(held_gpu_memory({new_one}, use()), "");
}

TEST(GpuWait, OfManyGpusSomeAreNamed) {
  GpuUse many = use();
  GpuFacts now;
  many.before.clear();
  for (int i = 0; i < 8; ++i) {
    now.push_back(gpu(900, {}));
    now.back().uuid = std::to_string(i);
    many.before.push_back(gpu(100, {}));
    many.before.back().uuid = std::to_string(i);
  }
  many.before[0] = now[0];
  EXPECT_EQ(
      held_gpu_memory(now, many),
      "GPU 1 with 800 MiB more in use than before, GPU 2 with 800 MiB more in use than before, GPU 3 with 800 MiB "
      "more in use than before, GPU 4 with 800 MiB more in use than before, 3 more");
}

}  // namespace launch::gpu_wait_test

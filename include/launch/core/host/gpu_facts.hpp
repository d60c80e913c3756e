// What NVIDIA's library says of the GPUs of a host and of the processes on them, and the lines by which a process of
// its own passes that on to launch. io/gpu_library asks; launch-ctl and the wait for free memory use it. Pure; sizes
// are bytes. What is not known is absent.
#pragma once

#include "launch/core/base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace launch {

struct GpuProcess {
  pid_t pid = 0;
  std::optional<std::int64_t> bytes;

  bool operator==(const GpuProcess&) const = default;
};

struct GpuFact {
  std::string uuid;
  std::string name;
  std::optional<std::int64_t> used_bytes;
  std::optional<std::int64_t> total_bytes;
  std::optional<int> busy_percent;  // of the last moments
  std::vector<GpuProcess> processes;

  bool operator==(const GpuFact&) const = default;
};

// By index, as the library counts them.
using GpuFacts = std::vector<GpuFact>;

// The lines of one GPU, each with its end.
std::string to_lines(const GpuFact& gpu);
// What comes after the last GPU, and in place of all if the library cannot be used.
inline constexpr std::string_view end_of_gpus = "end\n";
std::string no_gpus_line(std::string_view why);

// ErrorCode::closed: the library cannot be used, for the reason in the message; protocol: these are no such lines, or
// not all of them.
Result<GpuFacts> parse_gpu_facts(std::string_view lines);

// What these processes have on all GPUs; nullopt if none of them is on one, or it is known of none.
std::optional<std::int64_t> gpu_memory_of(const GpuFacts& gpus, const std::vector<pid_t>& pids);

}  // namespace launch

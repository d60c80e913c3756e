// The GPUs of a host and the processes on them, from what nvidia-smi prints as CSV without header and units. Used by
// io/host_probe, which asks it. Pure. What is not known ("[N/A]") stays empty or -1; a line that is something else is
// left out, and so is what exceeds the bounds below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

inline constexpr std::size_t most_gpu_lines = 32;
inline constexpr std::size_t most_gpu_process_lines = 1024;

struct GpuLine {
  std::string name;
  std::string driver;
  std::int64_t total_mib = -1;
  std::int64_t free_mib = -1;

  bool operator==(const GpuLine&) const = default;
};

struct GpuProcessLine {
  int pid = 0;
  std::int64_t used_mib = -1;

  bool operator==(const GpuProcessLine&) const = default;
};

// The arguments of nvidia-smi that print what these two read.
inline constexpr const char* gpu_query = "--query-gpu=driver_version,memory.total,memory.free,name";
inline constexpr const char* gpu_process_query = "--query-compute-apps=pid,used_memory";

std::vector<GpuLine> parse_gpu_lines(std::string_view csv);
std::vector<GpuProcessLine> parse_gpu_process_lines(std::string_view csv);

}  // namespace launch

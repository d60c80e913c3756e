#include "launch/core/host/gpu_wait.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::int64_t margin = 20;  // one part in so many of the memory that a GPU has
constexpr std::size_t most_told_gpus = 4;

bool is_on(const GpuFact& gpu, pid_t pid) {
  return std::any_of(gpu.processes.begin(), gpu.processes.end(), [pid](const auto& one) { return one.pid == pid; });
}

const GpuFact* gpu_named(const GpuFacts& gpus, const std::string& uuid) {
  const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const GpuFact& gpu) { return gpu.uuid == uuid; });
  return found == gpus.end() ? nullptr : &*found;
}

bool is_of_last_attempt(const GpuProcess& process, const GpuFact& before, const GpuUse& use) {
  if (std::find(use.last.begin(), use.last.end(), process.pid) != use.last.end()) return true;
  return !is_on(before, process.pid) && !use.runs(process.pid);
}

// How much more memory is used than before, if that is too much.
std::optional<std::int64_t> surplus(const GpuFact& gpu, const GpuFact& before) {
  if (!gpu.used_bytes || !before.used_bytes || !gpu.total_bytes) return std::nullopt;
  const std::int64_t more = *gpu.used_bytes - *before.used_bytes;
  return more > *gpu.total_bytes / margin ? std::optional(more) : std::nullopt;
}

// Empty: it is free.
std::string held_on(const GpuFact& gpu, const GpuFact& before, const GpuUse& use) {
  bool others_came = false;
  for (const GpuProcess& process : gpu.processes) {
    if (is_of_last_attempt(process, before, use)) return fmt::format("by pid {}", process.pid);
    others_came = others_came || !is_on(before, process.pid);
  }
  const auto more = others_came ? std::nullopt : surplus(gpu, before);
  return more ? fmt::format("with {} MiB more in use than before", *more >> 20) : "";
}

}  // namespace

std::string held_gpu_memory(const GpuFacts& gpus, const GpuUse& use) {
  std::vector<std::string> held;
  for (std::size_t index = 0; index < gpus.size(); ++index) {
    const GpuFact* const before = gpu_named(use.before, gpus[index].uuid);
    const std::string how = before == nullptr ? "" : held_on(gpus[index], *before, use);
    if (!how.empty()) held.push_back(fmt::format("GPU {} {}", index, how));
  }
  if (held.size() > most_told_gpus) {
    const std::size_t rest = held.size() - most_told_gpus;
    held.resize(most_told_gpus);
    held.push_back(fmt::format("{} more", rest));
  }
  return fmt::format("{}", fmt::join(held, ", "));
}

}  // namespace launch

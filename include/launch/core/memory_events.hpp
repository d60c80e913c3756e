// What the kernel tells of a control group's memory, version 1 and 2, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace launch {

// Where the files of this process's group are, below /sys/fs/cgroup.
struct MemoryGroup {
  bool version_2 = false;
  std::string path;  // "/memory/a/b" or "/a/b"; without a slash at the end
};

// From /proc/self/cgroup.
std::optional<MemoryGroup> memory_group(std::string_view proc_cgroup);

// Processes that the out-of-memory killer has ended: memory.events, or memory.oom_control before version 2. nullopt:
// the kernel does not count them.
std::optional<std::int64_t> oom_kills(std::string_view events);

// In words, of a worker that SIGKILL has ended, or of one that has ended otherwise: then it may have been its child.
// `limit` and `peak` as the kernel has them: a number of bytes, "max", or nothing.
std::string oom_text(bool of_worker, std::string_view limit, std::string_view peak);

}  // namespace launch

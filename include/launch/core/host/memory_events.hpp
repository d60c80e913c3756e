// What the kernel tells of a control group's memory, version 1 and 2, as text. Used by io/memory_watch, which reads the
// files. Any text may come: what cannot be read counts nothing. It never says that a worker was killed for memory
// unless the counter went up.
#pragma once

#include "launch/core/base/time.hpp"

#include <chrono>
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

// How often the killer has struck since the workers were started. The kernel does not say whom it has killed: a worker
// that SIGKILL ends was killed by it if the counter has just gone up.
class OomCount {
 public:
  // How often the counter should be looked at.
  static constexpr Duration interval = std::chrono::milliseconds(500);

  explicit OomCount(std::optional<std::int64_t> count = std::nullopt) : before_(count) {}

  // What the counter says now.
  void look(std::optional<std::int64_t> count, Time now);

  // Whether the killer has ended a worker that SIGKILL ends now, as `look` has just been told. Each time that it has
  // struck explains one end.
  bool explains_kill(Time now);
  std::int64_t times() const { return times_; }

 private:
  std::optional<std::int64_t> before_;  // nullopt: nobody counts
  std::int64_t times_ = 0;
  std::int64_t explained_ = 0;
  Time went_up_{};
};

// In words: that the killer has ended this worker, or how often it has struck. `limit` and `peak` as the kernel has
// them: a number of bytes, "max", or nothing.
std::string oom_text(bool of_worker, std::int64_t times, std::string_view limit, std::string_view peak);

}  // namespace launch

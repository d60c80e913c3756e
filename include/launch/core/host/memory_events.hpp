// What the kernel says about a control group's memory, version 1 and 2, as text. Used by io/memory_watch, which reads
// the files. Any text may come: what cannot be read counts as nothing. It never says that a worker was killed for
// memory unless the counter went up.
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

// How many processes the out-of-memory killer has killed: memory.events, or memory.oom_control before version 2.
// nullopt: the kernel does not count them.
std::optional<std::int64_t> oom_kills(std::string_view events);

// How often the killer has acted since the workers were started. The kernel does not say which process it has killed:
// if a worker dies of SIGKILL and the counter has just gone up, the killer is taken for the cause.
class OomCount {
 public:
  // Between two looks at the counter.
  static constexpr Duration interval = std::chrono::milliseconds(500);

  explicit OomCount(std::optional<std::int64_t> count = std::nullopt) : before_(count) {}

  // Takes what the counter says now.
  void look(std::optional<std::int64_t> count, Time now);

  // Whether the killer has killed a worker that dies of SIGKILL now; look() must be called just before. Each time that
  // the killer has acted explains one death.
  bool explains_kill(Time now);
  std::int64_t times() const { return times_; }

 private:
  std::optional<std::int64_t> before_;  // at the start; nullopt: the kernel does not count
  std::int64_t times_ = 0;
  std::int64_t explained_ = 0;
  Time went_up_{};
};

// In words: that the killer has killed this worker, or how often it has acted. `limit` and `peak` as the kernel writes
// them: a number of bytes, "max", or nothing.
std::string oom_text(bool of_worker, std::int64_t times, std::string_view limit, std::string_view peak);

}  // namespace launch

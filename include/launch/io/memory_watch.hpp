// Tells whether the kernel's out-of-memory killer has ended a process of our control group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace launch {

class MemoryWatch {
 public:
  // Remembers how many it has ended so far.
  MemoryWatch();

  // Since then, about the end of a worker, by SIGKILL or not: a sentence with limit and peak; empty if it has ended
  // none, or if nobody counts them.
  std::string evidence(bool worker_killed) const;

 private:
  std::optional<std::int64_t> kills() const;
  std::string read(const char* of_version_2, const char* of_version_1) const;

  bool version_2_ = false;
  std::string folder_;  // of the group's files; empty: not found
  std::optional<std::int64_t> before_;
};

}  // namespace launch

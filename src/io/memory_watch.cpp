#include "launch/io/memory_watch.hpp"

#include "launch/core/memory_events.hpp"
#include "launch/io/files.hpp"

#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t most = 4096;  // bytes of such a file

}  // namespace

MemoryWatch::MemoryWatch() {
  const auto group = memory_group(read_file("/proc/self/cgroup", most));
  if (!group) return;
  version_2_ = group->version_2;
  // In a container the path may be that of the host, where the container sees its own group at the top.
  const std::string top = version_2_ ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  const char* const file = version_2_ ? "/memory.events" : "/memory.oom_control";
  for (const std::string& folder : {"/sys/fs/cgroup" + group->path, top})
    if (folder_.empty() && ::access((folder + file).c_str(), R_OK) == 0) folder_ = folder;
  before_ = kills();
}

std::string MemoryWatch::evidence(bool worker_killed) const {
  const auto after = kills();
  if (!before_ || !after || *after <= *before_) return {};
  return oom_text(worker_killed, read("/memory.max", "/memory.limit_in_bytes"),
                  read("/memory.peak", "/memory.max_usage_in_bytes"));
}

std::optional<std::int64_t> MemoryWatch::kills() const {
  return oom_kills(read("/memory.events", "/memory.oom_control"));
}

std::string MemoryWatch::read(const char* of_version_2, const char* of_version_1) const {
  return folder_.empty() ? "" : read_file(folder_ + (version_2_ ? of_version_2 : of_version_1), most);
}

}  // namespace launch

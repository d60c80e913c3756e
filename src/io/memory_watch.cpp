#include "launch/io/memory_watch.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"

#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t longest_file = 4096;  // bytes of such a file

}  // namespace

MemoryWatch::MemoryWatch(const boost::asio::any_io_executor& executor) : timer_(executor) {
  const auto group = memory_group(read_file("/proc/self/cgroup", longest_file));
  if (!group) return;
  version_2_ = group->version_2;
  // In a container the path may be the host's, while the container sees its own group at the top.
  const std::string top = version_2_ ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  const char* const file = version_2_ ? "/memory.events" : "/memory.oom_control";
  for (const std::string& folder : {"/sys/fs/cgroup" + group->path, top})
    if (folder_.empty() && ::access((folder + file).c_str(), R_OK) == 0) folder_ = folder;
}

void MemoryWatch::begin() {
  const auto so_far = kills();
  count_ = OomCount(so_far);
  if (so_far) look_later();
}

void MemoryWatch::look_later() {
  timer_.expires_after(OomCount::interval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    count_.look(kills(), now());
    look_later();
  });
}

MemoryWatch::Evidence MemoryWatch::evidence(bool worker_killed) {
  const Time at = now();
  count_.look(kills(), at);
  if (count_.times() == 0) return {};
  const bool of_worker = worker_killed && count_.explains_kill(at);
  return {of_worker, oom_text(of_worker, count_.times(), read("/memory.max", "/memory.limit_in_bytes"),
                              read("/memory.peak", "/memory.max_usage_in_bytes"))};
}

std::optional<std::int64_t> MemoryWatch::kills() const {
  return oom_kills(read("/memory.events", "/memory.oom_control"));
}

std::string MemoryWatch::read(const char* of_version_2, const char* of_version_1) const {
  return folder_.empty() ? "" : read_file(folder_ + (version_2_ ? of_version_2 : of_version_1), longest_file);
}

}  // namespace launch

#include "launch/io/driver_log.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/files.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t most_of_kernel_log = std::size_t{8} << 20;  // bytes since the start of the attempt
constexpr std::size_t longest_information = 4096;
constexpr ino_t first_pid_namespace = 0xEFFFFFFC;  // the kernel's own number of the host's pids

// In a container the driver's pids, which are the host's, mean nothing.
bool sees_pids_of_host() {
  struct stat info {};
  return ::stat("/proc/self/ns/pid", &info) == 0 && info.st_ino == first_pid_namespace;
}

bool runs_elsewhere(pid_t pid) {
  const auto own = ::getpid();
  auto stat = stat_of(pid);
  if (!stat) return false;  // it has ended, so it may have been a worker's
  while (stat && pid != own && stat->parent > 1) {
    pid = stat->parent;
    stat = stat_of(pid);
  }
  return pid != own;
}

}  // namespace

void DriverLog::begin() {
  log_.reset();
  if (::access((root_ + "/dev/nvidiactl").c_str(), F_OK) != 0) return;
  log_ = Fd(::open((root_ + "/dev/kmsg").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (log_.valid() && ::lseek(log_.get(), 0, SEEK_END) < 0) log_.reset();
}

// Each read() of the kernel's log returns one record, or says that some have been lost meanwhile.
std::vector<Xid> DriverLog::read() const {
  if (!log_.valid()) return {};
  std::string records;
  std::array<char, 8192> bytes{};
  for (std::size_t seen = 0; seen < most_of_kernel_log;) {
    const ssize_t size = ::read(log_.get(), bytes.data(), bytes.size());
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (size <= 0) break;
    const std::string_view record(bytes.data(), static_cast<std::size_t>(size));
    seen += record.size();
    if (record.find("NVRM: Xid") != std::string_view::npos) records += record;
  }
  std::vector<Xid> xids = parse_xids(records);
  if (!sees_pids_of_host())
    for (Xid& xid : xids) xid.pid = 0;
  std::erase_if(xids, [this](const Xid& xid) { return runs_elsewhere(xid.pid) || !may_use(xid.gpu); });
  return xids;
}

// Another job's GPUs are hidden from this one by the permissions of their devices, if at all.
bool DriverLog::may_use(const std::string& gpu) const {
  const std::string information =
      read_file(fmt::format("{}/proc/driver/nvidia/gpus/{}/information", root_, gpu), longest_information);
  for (const std::string_view line : split(information, '\n')) {
    constexpr std::string_view key = "Device Minor:";
    if (!line.starts_with(key)) continue;
    const auto minor = parse_int(line.substr(key.size()));
    return !minor || ::access(fmt::format("{}/dev/nvidia{}", root_, *minor).c_str(), R_OK | W_OK) == 0;
  }
  return true;
}

}  // namespace launch

#include "launch/io/cgroup.hpp"

#include "launch/core/host/cgroup_path.hpp"
#include "launch/io/files.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr int most_leaves = 16;   // groups that dead launches with our pid may have left
constexpr int deepest_group = 8;  // a worker may make groups in its own
constexpr nlink_t few_groups = 64;

std::string own_cgroup_folder() {
  return cgroup_folder(read_file("/proc/self/cgroup", 16384), read_file("/proc/self/mountinfo", std::size_t{1} << 20))
      .value_or("");
}

std::string own_prefix(pid_t pid) {
  struct stat info {};
  if (::stat("/proc/self/ns/pid", &info) != 0) return {};
  return cgroup_prefix(info.st_ino, pid);
}

void kill_in_group(const std::string& folder) {
  const Fd fd(::open((folder + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return;
  // If it fails, the reaper's own signals still do the work.
  if (::write(fd.get(), "1", 1) != 1) return;
}

std::vector<std::string> groups_in(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> result;
  DIR* const dir = ::opendir(folder.c_str());
  if (dir == nullptr) return result;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != ".." && name.starts_with(prefix))
      result.push_back(folder + "/" + name);
  }
  ::closedir(dir);
  return result;
}

// The kernel does not remove a group that still has processes.
void remove_group(const std::string& folder, int depth = 0) {
  if (::rmdir(folder.c_str()) == 0 || depth == deepest_group) return;
  for (const std::string& below : groups_in(folder, "")) remove_group(below, depth + 1);
  ::rmdir(folder.c_str());
}

// If many launches run on this machine, it is enough that some of them look at all groups.
bool looks_for_the_dead(const std::string& parent) {
  struct stat info {};
  return ::stat(parent.c_str(), &info) != 0 || static_cast<nlink_t>(::getpid()) % (info.st_nlink / few_groups + 1) == 0;
}

// The process may have ended without being reaped, because in some containers process 1 reaps nothing. Neither call
// needs a permission, but some containers refuse the second one. /proc would answer at ten times the cost.
bool maker_has_ended(pid_t pid) {
  if (::getsid(pid) < 0 && errno == ESRCH) return true;
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{process.get(), POLLIN, 0};
  return process.valid() ? ::poll(&ended, 1, 0) == 1 : errno == ESRCH;
}

// Ends the groups of launches that were killed together with their guard, so that nobody was left to do it.
void end_groups_of_the_dead(const std::string& parent) {
  struct stat info {};
  if (::stat("/proc/self/ns/pid", &info) != 0) return;
  for (const std::string& folder : groups_in(parent, "launch-")) {
    const auto maker = cgroup_maker(folder.substr(parent.size() + 1), info.st_ino);
    if (maker && maker_has_ended(*maker)) end_cgroups_of(*maker, parent);
  }
}

}  // namespace

WorkerCgroup::WorkerCgroup() : WorkerCgroup(own_cgroup_folder()) {}

WorkerCgroup::WorkerCgroup(const std::string& parent) {
  const std::string prefix = parent.empty() ? "" : own_prefix(::getpid());
  if (prefix.empty()) return;
  if (looks_for_the_dead(parent)) end_groups_of_the_dead(parent);
  make(parent, prefix);
}

WorkerCgroup::WorkerCgroup(const WorkerCgroup* before) {
  if (before->folder_.empty()) return;
  make(before->folder_.substr(0, before->folder_.rfind('/')), own_prefix(::getpid()));
}

void WorkerCgroup::make(const std::string& parent, const std::string& prefix) {
  for (int i = 0; i < most_leaves && folder_.empty(); ++i) {
    const std::string folder = fmt::format("{}/{}{}", parent, prefix, i);
    if (::mkdir(folder.c_str(), 0755) == 0) {
      folder_ = folder;
    } else if (errno != EEXIST) {
      return;
    }
  }
  if (folder_.empty()) return;
  // cgroup.kill exists since Linux 5.14.
  if (::access((folder_ + "/cgroup.kill").c_str(), W_OK) == 0)
    fd_ = Fd(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd_.valid()) return;
  ::rmdir(folder_.c_str());
  folder_.clear();
}

WorkerCgroup::~WorkerCgroup() {
  if (!folder_.empty()) remove_group(folder_);
}

void WorkerCgroup::end_all() {
  if (empty()) return;
  killed_ = true;
  kill_in_group(folder_);
}

bool WorkerCgroup::empty() const {
  return folder_.empty() || !is_populated(read_file(folder_ + "/cgroup.events", 4096));
}

std::optional<std::string> reason_against_group() {
  const std::string parent = own_cgroup_folder();
  if (parent.empty()) return "version 2 is not mounted";
  if (::access(parent.c_str(), W_OK) != 0) return fmt::format("{}: {}", parent, std::strerror(errno));
  const bool is_top = ::access((parent + "/cgroup.type").c_str(), F_OK) != 0;  // which has fewer files
  if (!is_top && ::access((parent + "/cgroup.kill").c_str(), F_OK) != 0) return "Linux before 5.14";
  return std::nullopt;
}

void kill_cgroups_of(pid_t pid) {
  const std::string parent = own_cgroup_folder();
  const std::string prefix = parent.empty() ? "" : own_prefix(pid);
  if (prefix.empty()) return;
  for (const std::string& folder : groups_in(parent, prefix)) kill_in_group(folder);
}

void end_cgroups_of(pid_t pid) { end_cgroups_of(pid, own_cgroup_folder()); }

void end_cgroups_of(pid_t pid, const std::string& parent) {
  const std::string prefix = parent.empty() ? "" : own_prefix(pid);
  if (prefix.empty()) return;
  for (const std::string& folder : groups_in(parent, prefix)) {
    kill_in_group(folder);
    remove_group(folder);
  }
}

}  // namespace launch

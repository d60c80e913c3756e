#include "launch/io/process_look.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>

#include <dirent.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t longest_stat = 1024;
constexpr std::size_t longest_status = 8192;
constexpr std::size_t most_descendants = 4096;
constexpr std::size_t most_threads = 1024;
constexpr std::size_t most_processes = 65536;  // in a scan of all

// The numbers among the names in a folder of /proc.
std::vector<pid_t> numbers_in(const std::string& folder, std::size_t limit) {
  std::vector<pid_t> result;
  DIR* const dir = ::opendir(folder.c_str());
  if (dir == nullptr) return result;
  while (const dirent* entry = result.size() < limit ? ::readdir(dir) : nullptr) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) result.push_back(pid);
  }
  ::closedir(dir);
  return result;
}

// Most processes have one thread. The folder's count of links tells that without reading it.
std::vector<pid_t> threads_of(pid_t pid) {
  constexpr nlink_t of_one = 3;
  const std::string folder = fmt::format("/proc/{}/task", pid);
  struct stat info {};
  if (::stat(folder.c_str(), &info) == 0 && info.st_nlink == of_one) return {pid};
  return numbers_in(folder, most_threads);
}

void read_sleep(const std::string& folder, ProcessLook& look) {
  const std::string channel = read_file(folder + "/wchan", 128);
  look.wait_channel = channel == "0" ? "" : std::string(trim(channel));
  look.kernel_stack = read_file(folder + "/stack", 4096);
}

// What keeps the process from ending although it was told to.
void read_holders(const std::string& folder, ProcessLook& look) {
  const auto status = parse_process_status(read_file(folder + "/status", longest_status));
  if (!status) return;
  look.tracer = status->tracer;
  const uid_t own = ::geteuid();
  const auto is_ours = [own](unsigned uid) { return uid == own || uid == ::getuid(); };
  if (own != 0 && !is_ours(status->real_uid) && !is_ours(status->saved_uid)) look.protected_by_uid = status->real_uid;
}

// A kernel without this list needs a scan of all processes.
bool kernel_lists_children() {
  static const bool lists = ::access(fmt::format("/proc/{0}/task/{0}/children", ::getpid()).c_str(), R_OK) == 0;
  return lists;
}

// The kernel has a list for each thread of the children that it has made (io/disk_thread); the first one's also has
// those that were adopted.
void add_children_of_thread(pid_t pid, pid_t thread, std::vector<pid_t>& result) {
  const std::string text = read_file(fmt::format("/proc/{}/task/{}/children", pid, thread), std::size_t{1} << 20);
  for (const std::string_view word : split(trim(text), ' '))
    if (const auto child = parse_int(word)) result.push_back(*child);
}

std::vector<pid_t> children_by_thread(pid_t pid) {
  std::vector<pid_t> result;
  for (const pid_t thread : threads_of(pid)) add_children_of_thread(pid, thread, result);
  return result;
}

std::multimap<pid_t, pid_t> children_by_scan() {
  std::multimap<pid_t, pid_t> result;
  for (const pid_t pid : numbers_in("/proc", most_processes))
    if (const auto stat = stat_of(pid)) result.emplace(stat->parent, pid);
  return result;
}

// A pid about which nothing is known stays in the list, because the message is about it.
std::vector<ProcessLook> look_at_first(const std::vector<pid_t>& pids) {
  std::vector<ProcessLook> looks;
  for (std::size_t i = 0; i < std::min(pids.size(), most_named); ++i)
    looks.push_back(look_at(pids[i]).value_or(ProcessLook{pids[i], {}, '?', {}, {}}));
  return looks;
}

// True if the signal is in one of the masks in /proc/PID/status.
bool is_in_mask(pid_t pid, std::string_view label, int signal) {
  const std::string status = read_file(fmt::format("/proc/{}/status", pid), longest_status);
  const auto at = status.find(label);
  if (at == std::string::npos || signal < 1 || signal > 64) return false;
  std::uint64_t mask = 0;
  const char* const digits = status.data() + at + label.size();
  std::from_chars(digits, status.data() + status.size(), mask, 16);
  return (mask >> static_cast<unsigned>(signal - 1) & 1U) != 0;
}

}  // namespace

std::optional<ProcessStat> stat_of(pid_t pid) {
  return parse_process_stat(read_file(fmt::format("/proc/{}/stat", pid), longest_stat));
}

std::optional<ProcessLook> glance_at(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  const auto stat = stat_of(pid);
  if (!stat) return std::nullopt;
  ProcessLook look{pid, stat->name, stat->state, {}, {}};
  read_sleep(folder, look);
  if (look.state == 't' || look.state == 'T') read_holders(folder, look);
  if (look.state == 'D') return look;
  // The first thread may have ended while another one cannot.
  for (const pid_t thread : threads_of(pid)) {
    if (thread == pid) continue;
    const std::string path = fmt::format("{}/task/{}", folder, thread);
    const auto other = parse_process_stat(read_file(path + "/stat", longest_stat));
    if (!other || other->state != 'D') continue;
    look.state = other->state;
    read_sleep(path, look);
    break;
  }
  return look;
}

std::optional<ProcessLook> look_at(pid_t pid) {
  auto look = glance_at(pid);
  if (look) read_holders(fmt::format("/proc/{}", pid), *look);
  return look;
}

std::vector<pid_t> children_of(pid_t parent) {
  if (kernel_lists_children()) return children_by_thread(parent);
  std::vector<pid_t> result;
  const std::multimap<pid_t, pid_t> all = children_by_scan();
  for (auto [at, end] = all.equal_range(parent); at != end; ++at) result.push_back(at->second);
  return result;
}

std::vector<pid_t> adopted_by(pid_t parent) {
  if (!kernel_lists_children()) return children_of(parent);
  std::vector<pid_t> result;
  add_children_of_thread(parent, parent, result);
  return result;
}

std::vector<pid_t> descendants_of(pid_t root) {
  const bool listed = kernel_lists_children();
  const std::multimap<pid_t, pid_t> all = listed ? std::multimap<pid_t, pid_t>() : children_by_scan();
  std::vector<pid_t> found;
  const auto add_children = [&](pid_t parent) {
    const auto add = [&](pid_t child) {
      // A pid that appears again was reused meanwhile.
      const bool fresh = child != root && std::find(found.begin(), found.end(), child) == found.end();
      if (fresh && found.size() < most_descendants) found.push_back(child);
    };
    for (auto [at, end] = all.equal_range(parent); at != end; ++at) add(at->second);
    if (listed)
      for (const pid_t child : children_by_thread(parent)) add(child);
  };
  add_children(root);
  for (std::size_t i = 0; i < found.size(); ++i) add_children(found[i]);
  return found;
}

bool runs_python(pid_t pid) {
  std::array<char, 4096> path;
  const ssize_t size = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), path.data(), path.size());
  if (size <= 0) return false;
  const std::string_view name(path.data(), static_cast<std::size_t>(size));
  return name.substr(name.rfind('/') + 1).starts_with("python");
}

bool catches(pid_t pid, int signal) { return is_in_mask(pid, "SigCgt:\t", signal); }

bool ignores(pid_t pid, int signal) { return is_in_mask(pid, "SigIgn:\t", signal); }

bool is_in_background(pid_t pid, int fd) {
  unsigned terminal = 0;
  if (::ioctl(fd, TIOCGDEV, &terminal) != 0) return false;  // it is not a terminal
  const auto stat = stat_of(pid);
  return stat && stat->terminal == terminal && stat->foreground_group != stat->group;
}

std::string describe_processes(const std::vector<pid_t>& pids) {
  std::vector<pid_t> all = pids;
  for (const pid_t pid : pids) {
    if (all.size() >= most_descendants) break;
    const auto below = descendants_of(pid);
    all.insert(all.end(), below.begin(), below.end());
  }
  return describe_all(look_at_first(all), all.size());
}

std::string name_processes(const std::vector<pid_t>& pids) { return name_all(look_at_first(pids), pids.size()); }

}  // namespace launch

#include "launch/io/work_tally.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/files.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t longest_io = 1024;
constexpr int most_descriptors = 4096;

// Of the lines "rchar: 12" and "wchar: 34"; what comes from a disk because a mapped file is read stands in read_bytes.
std::uint64_t bytes_of(pid_t pid) {
  std::uint64_t sum = 0;
  const std::string text = read_file(fmt::format("/proc/{}/io", pid), longest_io);
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view value = line.substr(std::min(line.size(), line.find(' ') + 1));
    std::uint64_t number = 0;
    if (line.starts_with("rchar: ") || line.starts_with("wchar: ") || line.starts_with("read_bytes: "))
      std::from_chars(value.data(), value.data() + value.size(), number);
    sum += number;
  }
  return sum;
}

bool has_accelerator(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  DIR* const dir = ::opendir(folder.c_str());
  if (dir == nullptr) return false;
  bool found = false;
  int left = most_descriptors;
  while (const dirent* entry = !found && left-- > 0 ? ::readdir(dir) : nullptr) {
    std::array<char, 256> target{};
    const ssize_t size = ::readlinkat(::dirfd(dir), entry->d_name, target.data(), target.size());
    found = size > 0 && is_accelerator_file(std::string(target.data(), static_cast<std::size_t>(size)));
  }
  ::closedir(dir);
  return found;
}

}  // namespace

bool is_accelerator_file(const std::string& path) {
  constexpr std::string_view beginnings[] = {"/dev/nvidia", "/dev/kfd",        "/dev/dri/renderD", "/dev/accel",
                                             "/dev/vfio/",  "/dev/davinci",    "/dev/hl",          "/dev/neuron",
                                             "/dev/xpu",    "/dev/habanalabs", "/dev/cambricon"};
  return std::any_of(std::begin(beginnings), std::end(beginnings),
                     [&path](std::string_view beginning) { return path.starts_with(beginning); });
}

WorkTally tally_of(pid_t worker) {
  static const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  WorkTally tally;
  std::vector<pid_t> family = descendants_of(worker);
  family.insert(family.begin(), worker);
  for (const pid_t pid : family) {
    const auto stat = stat_of(pid);
    if (!stat) continue;
    tally.family.push_back(pid);
    tally.cpu_s += static_cast<double>(stat->cpu_ticks) / ticks_per_second;
    tally.faults += stat->faults;
    tally.stopped = tally.stopped || stat->state == 'T' || stat->state == 't';
    tally.runnable = tally.runnable || stat->state == 'R';
    tally.io_bytes += bytes_of(pid);
    tally.accelerator = tally.accelerator || has_accelerator(pid);
  }
  std::sort(tally.family.begin(), tally.family.end());
  return tally;
}

std::uint64_t size_together(const std::vector<std::string>& files) {
  std::uint64_t sum = 0;
  for (const std::string& file : files) sum += file_size(file);
  return sum;
}

}  // namespace launch

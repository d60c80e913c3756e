#include "launch/io/worker_look.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/files.hpp"
#include "launch/io/gpu_library.hpp"
#include "launch/io/process_look.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t tail_of_file = 4096;
constexpr std::size_t longest_last_line = 200;

// The last one that holds something. A progress bar writes its lines over each other.
std::string last_line_of(std::string text) {
  std::replace(text.begin(), text.end(), '\r', '\n');
  const auto lines = split(text, '\n');
  const auto last =
      std::find_if(lines.rbegin(), lines.rend(), [](std::string_view line) { return !trim(line).empty(); });
  return last == lines.rend() ? "" : std::string(beginning_of(trim(*last), longest_last_line));
}

std::optional<double> written_at(const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return std::nullopt;
  return static_cast<double>(info.st_mtim.tv_sec) + static_cast<double>(info.st_mtim.tv_nsec) / 1e9;
}

void read_last_line(const std::vector<std::string>& files, WorkerSight& sight) {
  std::optional<double> newest;
  std::string file;
  for (const std::string& one : files) {
    const auto written = written_at(one);
    if (!written || (newest && *written <= *newest)) continue;
    newest = written;
    file = one;
  }
  if (!newest) return;
  sight.last_line = last_line_of(read_tail(file, tail_of_file));
  sight.last_line_age_s = std::max(unix_time() - *newest, 0.0);
}

}  // namespace

WorkerSight look_at_worker(pid_t pid, const std::vector<std::string>& files) {
  static const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  WorkerSight sight;
  std::vector<pid_t> family = descendants_of(pid);
  family.insert(family.begin(), pid);
  for (const pid_t one : family) {
    const auto stat = stat_of(one);
    if (!stat) continue;
    sight.cpu_s += static_cast<double>(stat->cpu_ticks) / ticks_per_second;
    sight.memory_bytes += static_cast<std::int64_t>(stat->resident_pages * page);
  }
  sight.has_gpu = have_gpu_open(family);
  sight.family = std::move(family);
  read_last_line(files, sight);
  return sight;
}

}  // namespace launch

#include "launch/io/process_facts.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/host/process_stat.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t most_ancestors = 64;
constexpr std::size_t longest_command = 256;  // only its beginning matters
constexpr std::size_t longest_proc_file = 4096;

// The kernel's number for the PID namespace that a machine starts with.
constexpr const char* first_pid_namespace = "pid:[4026531836]";

std::string command_of(pid_t pid) {
  std::string words = read_file(fmt::format("/proc/{}/cmdline", pid), longest_command);
  std::replace(words.begin(), words.end(), '\0', ' ');
  return std::string(trim(words));
}

pid_t parent_of(pid_t pid) {
  const auto stat = parse_process_stat(read_file(fmt::format("/proc/{}/stat", pid), longest_proc_file));
  return stat ? stat->parent : 0;
}

bool is_in_first_pid_namespace() {
  std::array<char, 64> text{};
  const ssize_t size = ::readlink("/proc/self/ns/pid", text.data(), text.size());
  return size > 0 && std::string_view(text.data(), static_cast<std::size_t>(size)) == first_pid_namespace;
}

}  // namespace

ProcessFacts read_process_facts() {
  ProcessFacts facts;
  facts.pid = ::getpid();
  for (pid_t pid = ::getppid(); pid > 0 && facts.ancestors.size() < most_ancestors; pid = parent_of(pid))
    facts.ancestors.push_back({pid, command_of(pid)});
  facts.cgroup = read_file("/proc/self/cgroup", longest_proc_file);
  facts.sees_whole_host = is_in_first_pid_namespace();
  facts.terminal = Fd(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)).valid();
  return facts;
}

}  // namespace launch

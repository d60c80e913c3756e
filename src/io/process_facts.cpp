#include "launch/io/process_facts.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/allocation.hpp"
#include "launch/core/cluster/platform_start.hpp"
#include "launch/core/host/process_stat.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr std::size_t most_ancestors = 64;
constexpr std::size_t longest_command = 256;  // only its beginning matters
constexpr std::size_t longest_proc_file = 4096;
constexpr std::size_t longest_hosts_file = 65'536;
constexpr std::size_t most_of_named_file = 16'777'216;  // for 100,000 ranks

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

std::string own_hostname() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// In a pod /etc/hosts has "10.1.2.3 job-0.service.space.svc.cluster.local job-0".
std::string full_name(const std::string& hostname) {
  const std::string hosts = read_file("/etc/hosts", longest_hosts_file);
  for (const std::string_view line : split(hosts, '\n')) {
    std::string text(line.substr(0, line.find('#')));
    std::replace(text.begin(), text.end(), '\t', ' ');
    for (const std::string_view word : split(text, ' '))
      if (word.starts_with(hostname + ".")) return std::string(word);
  }
  return "";
}

// Whether the descriptor that the variable names is a socket.
bool is_socket(const std::optional<std::string>& number) {
  const auto descriptor = parse_int(number.value_or(""));
  struct stat status {};
  return descriptor && *descriptor > 2 && ::fstat(*descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

// What a variable names may be anything; a pipe would be waited for.
std::string read_regular_file(const std::string& path) {
  struct stat status {};
  const bool regular = !path.empty() && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return regular ? read_file(path, most_of_named_file) : "";
}

bool is_folder(const std::optional<std::string>& path) {
  struct stat status {};
  return path && ::stat(path->c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

std::optional<Environment> with_platform_files(const Environment& env) {
  const std::string text = read_regular_file(sagemaker_file);
  if (text.empty()) return std::nullopt;
  return with_sagemaker_file(env, text);
}

ProcessFacts read_process_facts(const Environment& env) {
  ProcessFacts facts;
  facts.pid = ::getpid();
  for (pid_t pid = ::getppid(); pid > 0 && facts.ancestors.size() < most_ancestors; pid = parent_of(pid))
    facts.ancestors.push_back({pid, command_of(pid)});
  facts.first_command = command_of(1);
  facts.hostname = own_hostname();
  facts.full_hostname = full_name(facts.hostname);
  facts.pmi_socket = is_socket(env.get("PMI_FD"));
  facts.pmix_folder = is_folder(env.get("PMIX_SERVER_TMPDIR"));
  facts.apinfo = read_regular_file(env.get("PALS_APINFO").value_or(""));
  facts.host_file = read_regular_file(host_file(env));
  facts.cgroup = read_file("/proc/self/cgroup", longest_proc_file);
  facts.sees_whole_host = is_in_first_pid_namespace();
  facts.terminal = Fd(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)).valid();
  return facts;
}

}  // namespace launch

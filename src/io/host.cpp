#include "launch/io/host.hpp"

#include "launch/core/base/random.hpp"
#include "launch/io/accelerators.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/files.hpp"
#include "launch/io/kernel_probe.hpp"
#include "launch/io/topology.hpp"

#include <array>
#include <sstream>

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): unistd.h has it only with GNU extensions

namespace launch {
namespace {

bool is_executable_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "localhost";
}

int usable_cpus() {
  // The mask of a machine with more than 1024 processors needs a larger set.
  for (int processors = 1024; processors <= 1 << 17; processors *= 4) {
    cpu_set_t* const set = CPU_ALLOC(processors);
    const std::size_t size = CPU_ALLOC_SIZE(processors);
    const int result = ::sched_getaffinity(0, size, set);
    const int count = result == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 1;
}

// True if --nproc-per-node is a word that counts devices; for a number they need not be looked at.
bool counts_devices(const Options& options) {
  const std::string& count = options.nproc_per_node.value;
  return count == "auto" || count == "gpu" || count == "xpu" || count == "npu";
}

// The NUMA nodes of the accelerators that ranks are bound to. Empty if their places on the PCI bus are not known: a
// guess would bind all of them to node 0.
std::vector<int> nodes_of_visible_devices(const HostFacts& facts) {
  std::vector<int> nodes;
  for (const Accelerator& device : first_visible(facts.accelerators, all_accelerator_kinds, facts.env)) {
    if (device.pci_address.empty()) return {};
    nodes.push_back(numa_node_of(device.pci_address));
  }
  return nodes;
}

}  // namespace

Environment read_environment() {
  std::vector<std::string> lines;
  for (char** line = environ; line != nullptr && *line != nullptr; ++line) lines.emplace_back(*line);
  return Environment::from_lines(lines);
}

std::optional<std::string> find_on_path(const std::string& name, const std::string& search_path) {
  if (name.empty() || name.find('/') != std::string::npos) return std::nullopt;
  std::istringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = folder.empty() ? std::string(".") : folder;
    candidate.append("/").append(name);
    if (is_executable_file(candidate)) return candidate;
  }
  return std::nullopt;
}

std::optional<std::string> executable_of(const std::string& program, const std::string& search_path) {
  return program.find('/') != std::string::npos ? program : find_on_path(program, search_path);
}

ProgramFacts read_program_facts(const std::string& program, const std::string& search_path) {
  ProgramFacts facts;
  facts.on_path = find_on_path(program, search_path);
  struct stat info {};
  if (::stat(program.c_str(), &info) != 0) return facts;
  facts.in_working_directory = true;
  facts.folder = S_ISDIR(info.st_mode);
  facts.main_inside = facts.folder && ::access((program + "/__main__.py").c_str(), F_OK) == 0;
  facts.executable = is_executable_file(program);
  if (S_ISREG(info.st_mode)) facts.first_bytes = read_file(program, 256);
  return facts;
}

HostFacts read_host_facts(const Options& options, Environment env) {
  HostFacts facts;
  const std::string search_path = env.get("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  facts.hostname = host_name();
  facts.usable_cpus = usable_cpus();
  Random random(random_seed());
  facts.fresh_id = make_uuid(random);
  if (!options.module.value) facts.program = read_program_facts(options.program, search_path);
  for (const char* name : {"CONDA_PREFIX", "VIRTUAL_ENV"})
    if (const auto folder = env.get(name); folder && is_executable_file(*folder + "/bin/python"))
      facts.venv_python = *folder + "/bin/python";
  if (const auto named = env.get("PYTHON_EXEC")) facts.exec_python = find_on_path(*named, search_path);
  facts.path_python = find_on_path("python3", search_path);
  if (!facts.path_python) facts.path_python = find_on_path("python", search_path);
  facts.env = std::move(env);
  struct stat info {};
  facts.log_dir_is_no_folder = ::stat(options.log_dir.value.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
  facts.log_dir_on_network = options.log_dir.given() && is_on_network(options.log_dir.value);
  const bool knows_colours = facts.env.get("TERM").value_or("dumb") != "dumb";
  facts.terminal_out = knows_colours && ::isatty(STDOUT_FILENO) != 0;
  facts.terminal_err = knows_colours && ::isatty(STDERR_FILENO) != 0;
  const bool binds = options.numa_binding.given();
  if (binds || counts_devices(options)) facts.accelerators = read_accelerators();
  if (binds) facts.device_nodes = nodes_of_visible_devices(facts);
  if (binds || options.omp_threads.value == "auto") facts.topology = read_topology();
  if (!options.explain.value.empty()) facts.kernel_lacks = kernel_lacks();
  return facts;
}

rlimit raise_open_files(int expected) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &raised);
  (void)Fd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, expected));  // the table stays as large
  return limit;
}

std::size_t columns_of(int fd) {
  if (::isatty(fd) == 0) return 0;
  constexpr std::size_t usual = 80;
  winsize size{};
  const bool known = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : usual;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (::syscall(SYS_getrandom, &seed, sizeof seed, 0) == sizeof seed) return seed;
  const auto moment = static_cast<std::uint64_t>(now().time_since_epoch().count());
  return moment ^ (static_cast<std::uint64_t>(::getpid()) << 40U);
}

}  // namespace launch

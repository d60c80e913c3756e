#include "launch/io/host.hpp"

#include "launch/core/random.hpp"
#include "launch/io/files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): unistd.h has it only with GNU extensions

namespace launch {
namespace {

namespace fs = std::filesystem;

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

// NVIDIA's driver lists a folder for each device.
int nvidia_devices(const std::string& root) {
  std::error_code error;
  int count = 0;
  for (auto it = fs::directory_iterator(root + "/proc/driver/nvidia/gpus", error); it != fs::directory_iterator();
       it.increment(error))
    ++count;
  return count;
}

// AMD's driver lists processors and devices alike; only devices have SIMD units.
int amd_devices(const std::string& root) {
  std::error_code error;
  int count = 0;
  for (auto it = fs::directory_iterator(root + "/sys/class/kfd/kfd/topology/nodes", error);
       it != fs::directory_iterator(); it.increment(error)) {
    std::istringstream lines(read_file((it->path() / "properties").string(), std::size_t{64} * 1024));
    std::string name;
    long long value = 0;
    while (lines >> name >> value)
      if (name == "simd_count" && value > 0) ++count;
  }
  return count;
}

// The driver takes the list up to the first entry that is no device; an empty list hides all.
int visible_of(int devices, const std::string& list) {
  std::istringstream entries(list);
  int count = 0;
  for (std::string entry; std::getline(entries, entry, ',');) {
    const auto first = entry.find_first_not_of(' ');
    if (first == std::string::npos || entry.substr(first, 2) == "-1") break;
    const bool index = entry.find_first_not_of("0123456789 ") == std::string::npos;
    if (index && std::stol("0" + entry.substr(first, 6)) >= devices) break;
    ++count;
  }
  return std::min(count, devices);
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

ProgramFacts read_program_facts(const std::string& program, const std::string& search_path) {
  ProgramFacts facts;
  facts.on_path = find_on_path(program, search_path);
  struct stat info {};
  if (::stat(program.c_str(), &info) != 0) return facts;
  facts.in_working_directory = true;
  facts.folder = S_ISDIR(info.st_mode);
  facts.executable = is_executable_file(program);
  if (S_ISREG(info.st_mode)) facts.first_bytes = read_file(program, 256);
  return facts;
}

int count_gpus(const Environment& env, const std::string& root) {
  if (const int devices = nvidia_devices(root); devices > 0) {
    const auto visible = env.get("CUDA_VISIBLE_DEVICES");
    return visible ? visible_of(devices, *visible) : devices;
  }
  const int devices = amd_devices(root);
  for (const char* name : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
    if (const auto visible = env.get(name)) return visible_of(devices, *visible);
  return devices;
}

HostFacts read_host_facts(const Options& options, Environment env) {
  HostFacts facts;
  const std::string search_path = env.get("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  facts.hostname = host_name();
  facts.usable_cpus = usable_cpus();
  facts.gpus = count_gpus(env);
  Random random(random_seed());
  facts.fresh_id = make_uuid(random);
  if (!options.module.value) facts.program = read_program_facts(options.program, search_path);
  if (const auto venv = env.get("VIRTUAL_ENV"); venv && is_executable_file(*venv + "/bin/python"))
    facts.venv_python = *venv + "/bin/python";
  if (const auto named = env.get("PYTHON_EXEC")) facts.exec_python = find_on_path(*named, search_path);
  facts.path_python = find_on_path("python3", search_path);
  if (!facts.path_python) facts.path_python = find_on_path("python", search_path);
  facts.env = std::move(env);
  return facts;
}

rlimit raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return limit;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = static_cast<std::uint64_t>(::getpid());
  return seed;
}

}  // namespace launch

#include "launch/io/topology.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/files.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <sched.h>

namespace launch {
namespace {

namespace fs = std::filesystem;

std::string sys_text(const std::string& path) { return read_file(path, std::size_t{64} * 1024); }

std::vector<int> sys_list(const std::string& path) { return parse_cpu_ranges(trim(sys_text(path))); }

// The number in a name such as cpu12 or node3.
std::optional<int> number_after(const std::string& prefix, const std::string& name) {
  const bool named = name.starts_with(prefix) && name.size() > prefix.size() &&
                     name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  return named ? parse_int(name.substr(prefix.size())) : std::nullopt;
}

// Numbered entries of a folder, by number.
std::map<int, std::string> numbered(const std::string& folder, const std::string& prefix) {
  std::error_code error;
  std::map<int, std::string> result;
  for (auto it = fs::directory_iterator(folder, error); it != fs::directory_iterator(); it.increment(error))
    if (const auto number = number_after(prefix, it->path().filename().string())) result[*number] = it->path().string();
  return result;
}

std::vector<int> allowed_cpus() {
  // The mask of a machine with more than 1024 CPUs needs a larger set.
  for (int size = 1024; size <= 1 << 17; size *= 4) {
    cpu_set_t* const set = CPU_ALLOC(size);
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    std::vector<int> result;
    if (::sched_getaffinity(0, bytes, set) == 0)
      for (int cpu = 0; cpu < size; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, set)) result.push_back(cpu);
    CPU_FREE(set);
    if (!result.empty()) return result;
  }
  return {};
}

// The CPUs that share the cache of the highest level; instruction caches do not count.
std::vector<int> sharing_largest_cache(const std::string& cpu) {
  int highest = -1;
  std::vector<int> result;
  for (const auto& [number, folder] : numbered(cpu + "/cache", "index")) {
    const std::string type = sys_text(folder + "/type");
    const auto level = parse_int(sys_text(folder + "/level"));
    if (!level || *level <= highest || (trim(type) != "Unified" && trim(type) != "Data")) continue;
    highest = *level;
    result = sys_list(folder + "/shared_cpu_list");
  }
  return result;
}

class TopologyReader {
 public:
  explicit TopologyReader(const std::string& root) : folder_(root + "/sys/devices/system") {}

  std::vector<CpuTopology::Cpu> read(const std::vector<int>& otherwise) {
    std::vector<int> online = sys_list(folder_ + "/cpu/online");
    if (online.empty())
      for (const auto& [cpu, path] : numbered(folder_ + "/cpu", "cpu")) online.push_back(cpu);
    if (online.empty()) online = otherwise;
    for (const int cpu : online) cpus_[cpu].index = cpu;
    for (const auto& [node, path] : numbered(folder_ + "/node", "node"))
      for (const int cpu : sys_list(path + "/cpulist"))
        if (cpus_.count(cpu) != 0) cpus_[cpu].node = node;
    std::vector<CpuTopology::Cpu> result;
    for (auto& [index, cpu] : cpus_) result.push_back(with_neighbours(cpu));
    return result;
  }

 private:
  const CpuTopology::Cpu& with_neighbours(CpuTopology::Cpu& cpu) {
    const std::string folder = folder_ + "/cpu/cpu" + std::to_string(cpu.index);
    cpu.package = parse_int(sys_text(folder + "/topology/physical_package_id")).value_or(0);
    cpu.core = lowest(cores_, cpu.index, [&] {
                 return sys_list(folder + "/topology/thread_siblings_list");
               }).value_or(cpu.index);
    cpu.cache = lowest(caches_, cpu.index, [&] { return sharing_largest_cache(folder); }).value_or(-1);
    return cpu;
  }

  // All CPUs that share a thing say so, so only one of them is asked: a large machine has thousands of these files.
  template <class Read>
  std::optional<int> lowest(std::map<int, int>& known, int cpu, Read read) {
    if (const auto it = known.find(cpu); it != known.end()) return it->second;
    const std::vector<int> sharing = read();
    if (!std::binary_search(sharing.begin(), sharing.end(), cpu)) return std::nullopt;
    for (const int other : sharing) known.emplace(other, sharing.front());
    return sharing.front();
  }

  std::string folder_;
  std::map<int, CpuTopology::Cpu> cpus_;
  std::map<int, int> cores_, caches_;
};

}  // namespace

CpuTopology read_topology(const std::string& root) {
  CpuTopology topology;
  if (root.empty()) topology.allowed = allowed_cpus();
  topology.cpus = TopologyReader(root).read(topology.allowed);
  if (!root.empty())
    for (const auto& cpu : topology.cpus) topology.allowed.push_back(cpu.index);
  return topology;
}

int numa_node_of(const std::string& pci_address, const std::string& root) {
  if (pci_address.empty()) return 0;
  return std::max(0, parse_int(sys_text(root + "/sys/bus/pci/devices/" + pci_address + "/numa_node")).value_or(0));
}

}  // namespace launch

#include "launch/core/host/binding.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

using Cpu = CpuTopology::Cpu;
using Cpus = std::vector<Cpu>;

// Linux knows at most 8,192 CPUs on any architecture; a larger number is not a CPU.
constexpr int max_cpu_number = 1 << 16;

// The machine as one plan sees it: the CPUs that may be used, by node, and where each rank belongs.
struct Places {
  std::map<int, Cpus> nodes;    // nodes without a usable CPU are left out
  std::vector<int> rank_nodes;  // by accelerator, or by rank if there is none
  bool by_accelerator = false;
};

std::map<int, Cpus> usable_by_node(const CpuTopology& topology) {
  const std::set<int> allowed(topology.allowed.begin(), topology.allowed.end());
  std::map<int, Cpus> result;
  for (const Cpu& cpu : topology.cpus)
    if (allowed.count(cpu.index) != 0) result[cpu.node].push_back(cpu);
  return result;
}

// Neighbouring ranks share a node, and the numbers of ranks on two nodes differ by at most one.
std::vector<int> dealt_to_nodes(const std::map<int, Cpus>& nodes, int nproc) {
  std::vector<int> names;
  for (const auto& [node, cpus] : nodes) names.push_back(node);
  std::vector<int> result;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(nproc); ++rank)
    result.push_back(names[rank * names.size() / static_cast<std::size_t>(nproc)]);
  return result;
}

// The position of `rank` among the entries of `rank_nodes` with its node, and how many these are.
std::pair<std::size_t, std::size_t> position_on_node(const std::vector<int>& rank_nodes, int rank) {
  const auto self = rank_nodes.begin() + rank;
  return {static_cast<std::size_t>(std::count(rank_nodes.begin(), self, *self)),
          static_cast<std::size_t>(std::count(rank_nodes.begin(), rank_nodes.end(), *self))};
}

// A node is in the package of its lowest usable CPU.
Cpus socket_of(const std::map<int, Cpus>& nodes, int node) {
  Cpus result;
  for (const auto& [other, cpus] : nodes)
    if (cpus.front().package == nodes.at(node).front().package) result.insert(result.end(), cpus.begin(), cpus.end());
  return result;
}

// The first ranks get one more core each if the cores cannot be divided evenly.
Result<Cpus> own_cores(const Places& places, int rank) {
  const int node = places.rank_nodes[static_cast<std::size_t>(rank)];
  std::map<int, Cpus> cores;
  for (const Cpu& cpu : places.nodes.at(node)) cores[cpu.core].push_back(cpu);
  const auto [position, count] = position_on_node(places.rank_nodes, rank);
  if (cores.size() < count)
    return usage_error(fmt::format(
        "NUMA node {} has {} for {} {}, and each needs its own; "
        "allow more CPUs, or bind to the node or to a core complex",
        node, counted(cores.size(), "usable core"), count, places.by_accelerator ? "accelerators" : "workers"));
  const std::size_t each = cores.size() / count;
  const std::size_t left = cores.size() % count;
  auto core = std::next(cores.begin(), static_cast<std::ptrdiff_t>(position * each + std::min(position, left)));
  Cpus result;
  for (std::size_t taken = 0; taken < each + (position < left ? 1 : 0); ++taken, ++core)
    result.insert(result.end(), core->second.begin(), core->second.end());
  return result;
}

// Complexes with more usable CPUs come first; of equal ones, those with lower CPUs.
Cpus complex_of(const Places& places, int rank) {
  std::map<int, Cpus> by_cache;
  for (const Cpu& cpu : places.nodes.at(places.rank_nodes[static_cast<std::size_t>(rank)]))
    by_cache[cpu.cache].push_back(cpu);
  std::vector<Cpus> complexes;
  for (auto& [cache, cpus] : by_cache) complexes.push_back(std::move(cpus));
  std::stable_sort(complexes.begin(), complexes.end(),
                   [](const Cpus& a, const Cpus& b) { return a.size() > b.size(); });
  return complexes[position_on_node(places.rank_nodes, rank).first % complexes.size()];
}

Result<Cpus> chosen_cpus(BindingMode mode, const Places& places, int rank) {
  const int node = places.rank_nodes[static_cast<std::size_t>(rank)];
  switch (mode) {
    case BindingMode::node:
      return places.nodes.at(node);
    case BindingMode::socket:
      return socket_of(places.nodes, node);
    case BindingMode::exclusive:
      return own_cores(places, rank);
    case BindingMode::core_complex:
      return complex_of(places, rank);
  }
  return Cpus();
}

Binding as_binding(const Cpus& cpus) {
  std::set<int> indices, nodes;
  for (const Cpu& cpu : cpus) {
    indices.insert(cpu.index);
    nodes.insert(cpu.node);
  }
  return {{indices.begin(), indices.end()}, {nodes.begin(), nodes.end()}};
}

}  // namespace

std::optional<BindingMode> parse_binding_mode(std::string_view text) {
  if (text == "node") return BindingMode::node;
  if (text == "socket") return BindingMode::socket;
  if (text == "exclusive") return BindingMode::exclusive;
  if (text == "core-complex") return BindingMode::core_complex;
  return std::nullopt;
}

Result<std::vector<Binding>> plan_binding(BindingMode mode, const CpuTopology& topology,
                                          const std::vector<int>& device_nodes, int nproc) {
  Places places{usable_by_node(topology), device_nodes, !device_nodes.empty()};
  if (places.nodes.empty()) return usage_error("no CPU of this machine may be used; check the CPU mask (taskset -p)");
  if (!places.by_accelerator) places.rank_nodes = dealt_to_nodes(places.nodes, nproc);
  if (places.rank_nodes.size() < static_cast<std::size_t>(nproc))
    return usage_error(
        fmt::format("there are {} for {}, and each worker is bound near its own; start fewer workers, "
                    "or make more accelerators visible",
                    counted(places.rank_nodes.size(), "visible accelerator"), counted(nproc, "worker")));
  std::vector<Binding> result;
  for (int rank = 0; rank < nproc; ++rank) {
    const int node = places.rank_nodes[static_cast<std::size_t>(rank)];
    if (places.nodes.count(node) == 0)
      return usage_error(
          fmt::format("accelerator {} is on NUMA node {}, none of whose CPUs may be used; ask for CPUs "
                      "of that node, or do without the binding",
                      rank, node));
    const auto cpus = chosen_cpus(mode, places, rank);
    if (!cpus) return cpus.error();
    result.push_back(as_binding(*cpus));
  }
  return result;
}

std::string cpu_ranges(const std::vector<int>& cpus) {
  const std::set<int> sorted(cpus.begin(), cpus.end());
  std::string result;
  for (auto it = sorted.begin(); it != sorted.end();) {
    const int first = *it;
    int last = first;
    while (++it != sorted.end() && *it == last + 1) ++last;
    result += fmt::format("{}{}", result.empty() ? "" : ",", first);
    if (last > first) result += fmt::format("-{}", last);
  }
  return result;
}

std::vector<int> parse_cpu_ranges(std::string_view text) {
  std::set<int> result;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), range.size() + 1));
    const auto dash = range.find('-');
    const auto first = parse_int(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last >= max_cpu_number) continue;
    for (int cpu = *first; cpu <= *last; ++cpu) result.insert(cpu);
  }
  return {result.begin(), result.end()};
}

}  // namespace launch

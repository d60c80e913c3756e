#include "launch/core/host/binding.hpp"

#include "launch/core/base/random.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::binding_test {

using testing::HasSubstr;
using Names = std::vector<std::string>;

// One NUMA node's CPUs, as the kernel lists them, and the package it is in.
struct Node {
  const char* cpus;
  int package;
};

// `cores` and `caches` are the lists of CPUs that share one; a CPU in none of them is alone.
CpuTopology machine(const std::vector<Node>& nodes, const Names& cores, const Names& caches,
                    const char* allowed = nullptr) {
  std::map<int, CpuTopology::Cpu> cpus;
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (const int index : parse_cpu_ranges(nodes[node].cpus))
      cpus[index] = {index, static_cast<int>(node), nodes[node].package, index, index};
  for (const std::string& core : cores)
    for (const int index : parse_cpu_ranges(core)) cpus.at(index).core = parse_cpu_ranges(core).front();
  for (const std::string& cache : caches)
    for (const int index : parse_cpu_ranges(cache)) cpus.at(index).cache = parse_cpu_ranges(cache).front();
  CpuTopology result;
  for (const auto& [index, cpu] : cpus) {
    result.cpus.push_back(cpu);
    if (allowed == nullptr) result.allowed.push_back(index);
  }
  if (allowed != nullptr) result.allowed = parse_cpu_ranges(allowed);
  return result;
}

// Two packages of two nodes of 16 cores of two threads, and a cache for every eight cores: an EPYC in NPS2.
CpuTopology two_sockets(const char* allowed = nullptr) {
  Names cores, caches;
  for (int core = 0; core < 64; ++core) cores.push_back(std::to_string(core) + "," + std::to_string(core + 64));
  for (int core = 0; core < 64; core += 8) caches.push_back(cpu_ranges({core, core + 64}));
  for (std::size_t i = 0; i < caches.size(); ++i) {
    std::vector<int> cpus;
    for (int cpu = 0; cpu < 8; ++cpu) {
      cpus.push_back(static_cast<int>(i) * 8 + cpu);
      cpus.push_back(static_cast<int>(i) * 8 + cpu + 64);
    }
    caches[i] = cpu_ranges(cpus);
  }
  return machine({{"0-15,64-79", 0}, {"16-31,80-95", 0}, {"32-47,96-111", 1}, {"48-63,112-127", 1}}, cores, caches,
                 allowed);
}

const std::vector<int> eight_gpus = {1, 1, 0, 0, 3, 3, 2, 2};

CpuTopology one_node(const std::string& cpus, const Names& caches = {}, const char* allowed = nullptr) {
  return machine({{cpus.c_str(), 0}}, {}, caches, allowed);
}

struct Plan {
  const char* what;
  BindingMode mode;
  CpuTopology topology;
  std::vector<int> device_nodes;
  int nproc;
  Names expected;  // CPUs by rank
};

void check(const std::vector<Plan>& plans) {
  for (const Plan& plan : plans) {
    const auto bindings = plan_binding(plan.mode, plan.topology, plan.device_nodes, plan.nproc);
    ASSERT_TRUE(bindings) << plan.what << ": " << bindings.error().message;
    Names found;
    for (const Binding& binding : *bindings) found.push_back(cpu_ranges(binding.cpus));
    EXPECT_EQ(found, plan.expected) << plan.what;
  }
}

TEST(Binding, ModesHaveTorchrunsNames) {
  EXPECT_EQ(parse_binding_mode("node"), BindingMode::node);
  EXPECT_EQ(parse_binding_mode("socket"), BindingMode::socket);
  EXPECT_EQ(parse_binding_mode("exclusive"), BindingMode::exclusive);
  EXPECT_EQ(parse_binding_mode("core-complex"), BindingMode::core_complex);
  for (const char* text : {"", "core_complex", "Node", "none", "node "}) EXPECT_FALSE(parse_binding_mode(text)) << text;
}

TEST(Binding, EightGpusOnTwoSocketsAndFourNodes) {
  check(
      {{"node",
        BindingMode::node,
        two_sockets(),
        eight_gpus,
        8,
        {"16-31,80-95", "16-31,80-95", "0-15,64-79", "0-15,64-79", "48-63,112-127", "48-63,112-127", "32-47,96-111",
         "32-47,96-111"}},
       {"socket",
        BindingMode::socket,
        two_sockets(),
        eight_gpus,
        8,
        {"0-31,64-95", "0-31,64-95", "0-31,64-95", "0-31,64-95", "32-63,96-127", "32-63,96-127", "32-63,96-127",
         "32-63,96-127"}},
       {"exclusive",
        BindingMode::exclusive,
        two_sockets(),
        eight_gpus,
        8,
        {"16-23,80-87", "24-31,88-95", "0-7,64-71", "8-15,72-79", "48-55,112-119", "56-63,120-127", "32-39,96-103",
         "40-47,104-111"}},
       {"core-complex",
        BindingMode::core_complex,
        two_sockets(),
        eight_gpus,
        8,
        {"16-23,80-87", "24-31,88-95", "0-7,64-71", "8-15,72-79", "48-55,112-119", "56-63,120-127", "32-39,96-103",
         "40-47,104-111"}},
       {"fewer workers: GPU 1 keeps its share", BindingMode::exclusive, two_sockets(), eight_gpus, 1, {"16-23,80-87"}},
       {"interleaved GPUs",
        BindingMode::exclusive,
        two_sockets(),
        {0, 3, 0},
        3,
        {"0-7,64-71", "48-63,112-127", "8-15,72-79"}}});
}

TEST(Binding, OnlyAllowedCpusAreUsed) {
  check({{"node", BindingMode::node, two_sockets("0-17"), {1, 0}, 2, {"16-17", "0-15"}},
         {"half a core is a core", BindingMode::exclusive, two_sockets("0-2,65"), {0, 0}, 2, {"0-1,65", "2"}},
         {"socket, where one of its nodes has none",
          BindingMode::socket,
          two_sockets("20-40"),
          {1, 2},
          2,
          {"20-31", "32-40"}},
         {"the fuller complex first",
          BindingMode::core_complex,
          two_sockets("6-12"),
          {0, 0, 0},
          3,
          {"8-12", "6-7", "8-12"}}});
}

TEST(Binding, CoresThatDoNotDivideGoToTheFirstRanks) {
  check({{"5 cores, 3 GPUs", BindingMode::exclusive, one_node("0-4"), {0, 0, 0}, 3, {"0-1", "2-3", "4"}},
         {"7 cores, 4 GPUs", BindingMode::exclusive, one_node("0-6"), {0, 0, 0, 0}, 4, {"0-1", "2-3", "4-5", "6"}},
         {"as many", BindingMode::exclusive, one_node("0-2"), {0, 0, 0}, 3, {"0", "1", "2"}},
         {"threads of a core stay together",
          BindingMode::exclusive,
          machine({{"0-5", 0}}, {"0-1", "2-3", "4-5"}, {}),
          {0, 0},
          2,
          {"0-3", "4-5"}}});
}

TEST(Binding, ComplexesOfUnequalSizeAreTakenInTurnTheLargestFirst) {
  const Names caches = {"0-3", "4-11", "12-15"};
  check({{"in turn",
          BindingMode::core_complex,
          one_node("0-15", caches),
          {0, 0, 0, 0, 0},
          5,
          {"4-11", "0-3", "12-15", "4-11", "0-3"}},
         {"equal after the mask",
          BindingMode::core_complex,
          one_node("0-15", caches, "0-7,12-15"),
          {0, 0, 0},
          3,
          {"0-3", "4-7", "12-15"}}});
}

TEST(Binding, ACacheThatSpansNodesGivesEachNodeItsPart) {
  // Sub-NUMA clusters: one package, two nodes, one cache.
  const CpuTopology clusters = machine({{"0-7", 0}, {"8-15", 0}}, {}, {"0-15"});
  check({{"complex", BindingMode::core_complex, clusters, {0, 1}, 2, {"0-7", "8-15"}},
         {"socket", BindingMode::socket, clusters, {0, 1}, 2, {"0-15", "0-15"}}});
}

TEST(Binding, UnknownCachesAreOneComplex) {
  CpuTopology topology = one_node("0-3");
  for (auto& cpu : topology.cpus) cpu.cache = -1;
  check({{"unknown", BindingMode::core_complex, topology, {0, 0}, 2, {"0-3", "0-3"}}});
}

TEST(Binding, WithoutAcceleratorsRanksAreDealtToNodesInBlocks) {
  const CpuTopology two = machine({{"0-3", 0}, {"4-7", 1}}, {}, {"0-1", "2-3", "4-5", "6-7"});
  check({{"two each", BindingMode::node, two, {}, 4, {"0-3", "0-3", "4-7", "4-7"}},
         {"the first node takes the odd one", BindingMode::node, two, {}, 3, {"0-3", "0-3", "4-7"}},
         {"one", BindingMode::node, two, {}, 1, {"0-3"}},
         {"exclusive", BindingMode::exclusive, two, {}, 3, {"0-1", "2-3", "4-7"}},
         {"complexes", BindingMode::core_complex, two, {}, 4, {"0-1", "2-3", "4-5", "6-7"}},
         {"a node out of reach",
          BindingMode::node,
          machine({{"0-3", 0}, {"4-7", 1}}, {}, {}, "4-6"),
          {},
          2,
          {"4-6", "4-6"}},
         {"socket", BindingMode::socket, two_sockets(), {}, 2, {"0-31,64-95", "32-63,96-127"}},
         {"fewer ranks than nodes", BindingMode::node, two_sockets(), {}, 2, {"0-15,64-79", "32-47,96-111"}},
         {"none", BindingMode::node, two, {}, 0, {}}});
}

TEST(Binding, MemoryIsThatOfTheChosenCpus) {
  const auto sockets = plan_binding(BindingMode::socket, two_sockets(), eight_gpus, 8);
  EXPECT_EQ((*sockets)[0].memory_nodes, (std::vector<int>{0, 1}));
  EXPECT_EQ((*sockets)[7].memory_nodes, (std::vector<int>{2, 3}));
  EXPECT_EQ((*plan_binding(BindingMode::exclusive, two_sockets(), eight_gpus, 8))[4].memory_nodes,
            (std::vector<int>{3}));
}

TEST(Binding, SaysWhatCannotBe) {
  struct Wrong {
    Plan plan;
    const char* words;
  };
  const std::vector<Wrong> cases = {
      {{"", BindingMode::node, two_sockets(), {0, 1}, 3, {}}, "2 visible accelerators for 3 workers"},
      {{"", BindingMode::node, two_sockets(), {0}, 2, {}}, "1 visible accelerator for 2 workers"},
      {{"", BindingMode::node, two_sockets("0-15"), {0, 2}, 2, {}}, "accelerator 1 is on NUMA node 2, none of"},
      {{"", BindingMode::socket, two_sockets("0-15"), {1}, 1, {}}, "accelerator 0 is on NUMA node 1, none of"},
      {{"", BindingMode::node, two_sockets(), {4}, 1, {}}, "NUMA node 4"},
      {{"", BindingMode::exclusive, one_node("0-2"), {0, 0, 0, 0}, 4, {}}, "has 3 usable cores for 4 accelerators"},
      {{"", BindingMode::exclusive, one_node("0-2"), {0, 0, 0, 0}, 1, {}}, "has 3 usable cores for 4 accelerators"},
      {{"", BindingMode::exclusive, one_node("0-3", {}, "2"), {}, 2, {}}, "has 1 usable core for 2 workers"},
      {{"", BindingMode::node, one_node("0-3", {}, ""), {}, 2, {}}, "no CPU of this machine"},
      {{"", BindingMode::node, CpuTopology(), {0}, 1, {}}, "no CPU of this machine"},
  };
  for (const Wrong& c : cases) {
    const auto result = plan_binding(c.plan.mode, c.plan.topology, c.plan.device_nodes, c.plan.nproc);
    ASSERT_FALSE(result) << c.words;
    EXPECT_EQ(result.error().code, ErrorCode::usage);
    EXPECT_THAT(result.error().message, HasSubstr(c.words));
  }
}

TEST(Binding, ANodeThatNoWorkerUsesMayBeOutOfReach) {
  check({{"", BindingMode::node, two_sockets("0-15"), {0, 2}, 1, {"0-15"}}});
}

TEST(Binding, RangesAreWrittenAndReadAsTheKernelDoes) {
  const std::vector<std::pair<std::vector<int>, std::string>> cases = {
      {{}, ""}, {{3}, "3"}, {{0, 1, 2, 4, 6, 7}, "0-2,4,6-7"}, {{0, 1}, "0-1"}, {{1023, 1024, 2047}, "1023-1024,2047"}};
  for (const auto& [cpus, text] : cases) {
    EXPECT_EQ(cpu_ranges(cpus), text);
    EXPECT_EQ(parse_cpu_ranges(text), cpus);
  }
  EXPECT_EQ(cpu_ranges({7, 6, 0, 6}), "0,6-7");
  EXPECT_EQ(parse_cpu_ranges("0-1,4\n"), (std::vector<int>{0, 1, 4}));
  EXPECT_EQ(parse_cpu_ranges(",x,2-,-3,5-4,0-99999999999,7"), std::vector<int>{7});
}

// Any shape: nodes interleaved or not, offline CPUs, masks, caches over nodes.
CpuTopology random_topology(Random& random) {
  const auto upto = [&random](std::uint64_t limit) { return static_cast<int>(random.next() % limit); };
  const int nodes = 1 + upto(4), threads = 1 + upto(2), cores = 1 + upto(24), cache_size = 1 + upto(9);
  const bool interleaved = upto(2) == 0;
  CpuTopology topology;
  for (int thread = 0; thread < threads; ++thread)
    for (int core = 0; core < cores; ++core) {
      if (upto(10) == 0) continue;
      const int node = interleaved ? core % nodes : core * nodes / cores;
      topology.cpus.push_back({thread * cores + core, node, node / 2, core, core / cache_size * cache_size});
    }
  for (const auto& cpu : topology.cpus)
    if (upto(4) != 0) topology.allowed.push_back(cpu.index);
  return topology;
}

// What holds for every plan: CPUs that are allowed, at least one; with `exclusive`, no core in two sets.
void check_bindings(BindingMode mode, const CpuTopology& topology, const std::vector<Binding>& bindings) {
  std::map<int, CpuTopology::Cpu> cpus;
  for (const auto& cpu : topology.cpus) cpus[cpu.index] = cpu;
  std::set<int> cores;
  for (const Binding& binding : bindings) {
    ASSERT_FALSE(binding.cpus.empty());
    std::set<int> own_cores, nodes;
    for (const int index : binding.cpus) {
      ASSERT_TRUE(std::binary_search(topology.allowed.begin(), topology.allowed.end(), index));
      own_cores.insert(cpus.at(index).core);
      nodes.insert(cpus.at(index).node);
    }
    ASSERT_EQ(binding.memory_nodes, std::vector<int>(nodes.begin(), nodes.end()));
    ASSERT_TRUE(nodes.size() == 1 || mode == BindingMode::socket);
    if (mode != BindingMode::exclusive) continue;
    for (const int core : own_cores) {
      ASSERT_TRUE(cores.insert(core).second) << "core " << core << " is in two sets";
      for (const int index : topology.allowed)
        ASSERT_TRUE(cpus.at(index).core != core || std::count(binding.cpus.begin(), binding.cpus.end(), index) == 1);
    }
  }
}

TEST(Binding, EveryPlanOfRandomMachinesKeepsItsPromises) {
  Random random(20240611);
  int planned = 0;
  for (int round = 0; round < 600; ++round) {
    const CpuTopology topology = random_topology(random);
    const int nproc = 1 + static_cast<int>(random.next() % 8);
    std::vector<int> device_nodes;
    if (round % 2 == 0)
      for (int device = 0; device < nproc; ++device) device_nodes.push_back(static_cast<int>(random.next() % 4));
    for (const BindingMode mode :
         {BindingMode::node, BindingMode::socket, BindingMode::exclusive, BindingMode::core_complex}) {
      const auto bindings = plan_binding(mode, topology, device_nodes, nproc);
      if (!bindings) continue;
      ++planned;
      ASSERT_EQ(bindings->size(), static_cast<std::size_t>(nproc));
      check_bindings(mode, topology, *bindings);
      if (testing::Test::HasFatalFailure()) FAIL() << "in round " << round;
    }
  }
  EXPECT_GT(planned, 800) << "most machines can be planned for";
}

}  // namespace launch::binding_test

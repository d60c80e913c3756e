#include "launch/io/topology.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

namespace launch::topology_test {

namespace fs = std::filesystem;
using Cpu = CpuTopology::Cpu;

class Tree {
 public:
  explicit Tree(const std::string& name)
      : root_(testing::TempDir() + "topology_test_" + std::to_string(::getpid()) + "_" + name) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~Tree() { fs::remove_all(root_); }

  Tree& file(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << '\n';
    return *this;
  }

  Tree& cpu(int index, const std::string& path, const std::string& text) {
    return file("/sys/devices/system/cpu/cpu" + std::to_string(index) + "/" + path, text);
  }

  Tree& cache(int index, int number, const std::string& type, const std::string& level, const std::string& cpus) {
    const std::string folder = "cache/index" + std::to_string(number) + "/";
    cpu(index, folder + "type", type);
    cpu(index, folder + "level", level);
    return cpu(index, folder + "shared_cpu_list", cpus);
  }

  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

// Two packages of two cores of two threads; the last level is shared by a package.
void make_two_packages(Tree& tree) {
  tree.file("/sys/devices/system/cpu/online", "0-7");
  tree.file("/sys/devices/system/node/node0/cpulist", "0-1,4-5");
  tree.file("/sys/devices/system/node/node1/cpulist", "2-3,6-7");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int core = cpu % 4;
    const std::string threads = std::to_string(core) + "," + std::to_string(core + 4);
    tree.cpu(cpu, "topology/physical_package_id", std::to_string(core / 2));
    tree.cpu(cpu, "topology/thread_siblings_list", threads);
    tree.cache(cpu, 0, "Data", "1", threads).cache(cpu, 1, "Instruction", "1", threads);
    tree.cache(cpu, 2, "Unified", "2", threads);
    tree.cache(cpu, 3, "Unified", "3", core < 2 ? "0-1,4-5" : "2-3,6-7");
  }
}

TEST(Topology, ReadsNodesPackagesCoresAndCaches) {
  Tree tree("packages");
  make_two_packages(tree);
  const CpuTopology topology = read_topology(tree.root());
  EXPECT_EQ(topology.cpus, (std::vector<Cpu>{{0, 0, 0, 0, 0},
                                             {1, 0, 0, 1, 0},
                                             {2, 1, 1, 2, 2},
                                             {3, 1, 1, 3, 2},
                                             {4, 0, 0, 0, 0},
                                             {5, 0, 0, 1, 0},
                                             {6, 1, 1, 2, 2},
                                             {7, 1, 1, 3, 2}}));
  EXPECT_EQ(topology.allowed, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Topology, LeavesOutWhatIsOffline) {
  Tree tree("offline");
  make_two_packages(tree);
  tree.file("/sys/devices/system/cpu/online", "0,2-4");
  const CpuTopology topology = read_topology(tree.root());
  EXPECT_EQ(topology.allowed, (std::vector<int>{0, 2, 3, 4}));
}

TEST(Topology, TheHighestLevelIsTheLargestCache) {
  Tree tree("levels");
  tree.file("/sys/devices/system/cpu/online", "0-1");
  for (int cpu = 0; cpu < 2; ++cpu)
    tree.cache(cpu, 0, "Unified", "2", "0-1")
        .cache(cpu, 1, "Data", "1", std::to_string(cpu))
        .cache(cpu, 2, "Instruction", "4", std::to_string(cpu));
  const CpuTopology topology = read_topology(tree.root());
  EXPECT_EQ(topology.cpus, (std::vector<Cpu>{{0, 0, 0, 0, 0}, {1, 0, 0, 1, 0}}));
}

TEST(Topology, WithoutNodesCachesAndNeighboursTheMachineIsPlain) {
  Tree tree("plain");
  tree.file("/sys/devices/system/cpu/online", "0-2");
  EXPECT_EQ(read_topology(tree.root()).cpus, (std::vector<Cpu>{{0, 0, 0, 0, -1}, {1, 0, 0, 1, -1}, {2, 0, 0, 2, -1}}));
}

TEST(Topology, WithoutAListTheFoldersAreCounted) {
  Tree tree("folders");
  tree.cpu(0, "topology/physical_package_id", "0").cpu(11, "topology/physical_package_id", "-1");
  tree.file("/sys/devices/system/cpu/cpufreq/policy0", "").file("/sys/devices/system/cpu/cpuidle/driver", "");
  EXPECT_EQ(read_topology(tree.root()).cpus, (std::vector<Cpu>{{0, 0, 0, 0, -1}, {11, 0, -1, 11, -1}}));
}

TEST(Topology, ANodeOfMemoryAloneHasNoCpu) {
  Tree tree("memory");
  tree.file("/sys/devices/system/cpu/online", "0-1");
  tree.file("/sys/devices/system/node/node0/cpulist", "0-1").file("/sys/devices/system/node/node1/cpulist", "");
  tree.file("/sys/devices/system/node/possible", "0-1");
  for (const Cpu& cpu : read_topology(tree.root()).cpus) EXPECT_EQ(cpu.node, 0);
}

TEST(Topology, MoreThan1024Cpus) {
  Tree tree("large");
  tree.file("/sys/devices/system/cpu/online", "0-1535");
  tree.file("/sys/devices/system/node/node0/cpulist", "0-767")
      .file("/sys/devices/system/node/node15/cpulist", "768-1535");
  const CpuTopology topology = read_topology(tree.root());
  ASSERT_EQ(topology.allowed.size(), 1536U);
  EXPECT_EQ(topology.cpus[767].node, 0);
  EXPECT_EQ(topology.cpus[1535], (Cpu{1535, 15, 0, 1535, -1}));
}

TEST(Topology, AnEmptyTreeHasNoCpu) { EXPECT_TRUE(read_topology(Tree("empty").root()).cpus.empty()); }

TEST(Topology, OfThisMachineHasTheCpusOfThisProcess) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const CpuTopology whole = read_topology();
  EXPECT_EQ(whole.allowed.size(), static_cast<std::size_t>(CPU_COUNT(&before)));
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(whole.allowed.back()), &one);
  ::sched_setaffinity(0, sizeof one, &one);
  const CpuTopology narrow = read_topology();
  ::sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(narrow.allowed, std::vector<int>{whole.allowed.back()});
  EXPECT_EQ(narrow.cpus, whole.cpus) << "the mask does not change the machine";
}

TEST(Topology, TheNodeOfAPciDevice) {
  Tree tree("pci");
  tree.file("/sys/bus/pci/devices/0000:3b:00.0/numa_node", "1")
      .file("/sys/bus/pci/devices/0000:04:00.0/numa_node", "-1");
  EXPECT_EQ(numa_node_of("0000:3b:00.0", tree.root()), 1);
  EXPECT_EQ(numa_node_of("0000:04:00.0", tree.root()), 0);
  EXPECT_EQ(numa_node_of("0000:05:00.0", tree.root()), 0);
  EXPECT_EQ(numa_node_of("", tree.root()), 0);
}

}  // namespace launch::topology_test

#include "launch/io/accelerators.hpp"

#include <filesystem>
#include <fstream>
#include <ostream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace launch {

// How a failed comparison shows a family.
void PrintTo(const AcceleratorFamily& family, std::ostream* out) {
  *out << "kind " << static_cast<int>(family.kind);
  for (const Accelerator& device : family.devices) {
    *out << " [" << device.pci_address << " " << device.uuid;
    for (const std::string& mig : device.mig_uuids) *out << " " << mig;
    *out << "]";
  }
}

namespace accelerators_test {

namespace fs = std::filesystem;
using Families = std::vector<AcceleratorFamily>;

// A recorded machine: device nodes are plain files.
class Machine {
 public:
  explicit Machine(const std::string& name)
      : root_(testing::TempDir() + "accelerators_test_" + std::to_string(::getpid()) + "_" + name) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~Machine() { fs::remove_all(root_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Machine& file(const std::string& path, const std::string& text = "") {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
    return *this;
  }

  Machine& link(const std::string& path, const std::string& target) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    fs::create_symlink(target, root_ + path);
    return *this;
  }

  Machine& nvidia(const std::string& address, const std::string& uuid, int minor, const std::string& more = "") {
    return file("/proc/driver/nvidia/gpus/" + address + "/information",
                "Model: \t\t NVIDIA A100-SXM4-80GB\n"
                "IRQ:   \t\t 260\n"
                "GPU UUID: \t " +
                    uuid +
                    "\n"
                    "Video BIOS: \t 92.00.45.00.05\n"
                    "Bus Type: \t PCIe\n"
                    "DMA Size: \t 47 bits\n"
                    "DMA Mask: \t 0x7fffffffffff\n"
                    "Bus Location: \t " +
                    address +
                    "\n"
                    "Device Minor: \t " +
                    std::to_string(minor) + "\n" + more);
  }

  Machine& mig(int minor, int instance, int part) {
    const std::string folder =
        "/proc/driver/nvidia/capabilities/gpu" + std::to_string(minor) + "/mig/gi" + std::to_string(instance);
    file(folder + "/access", "DeviceFileMinor: 21\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
    return file(folder + "/ci" + std::to_string(part) + "/access", "DeviceFileMinor: 22\n");
  }

  Machine& kfd(int node, const std::string& properties) {
    return file("/sys/class/kfd/kfd/topology/nodes/" + std::to_string(node) + "/properties", properties);
  }

  // A display controller as /sys shows it; `render` is the number of its node.
  Machine& card(int number, const std::string& address, const std::string& driver, int render,
                const std::string& vendor = "0x8086", const std::string& pci_class = "0x038000") {
    const std::string device = "/sys/devices/pci0000:00/" + address;
    file(device + "/vendor", vendor + "\n").file(device + "/class", pci_class + "\n");
    file(device + "/drm/renderD" + std::to_string(render) + "/dev", "226:128\n");
    link(device + "/driver", "../../../bus/pci/drivers/" + driver);
    file("/dev/dri/renderD" + std::to_string(render));
    return link("/sys/class/drm/card" + std::to_string(number) + "/device", "../../../devices/pci0000:00/" + address);
  }

  Families read() const { return read_accelerators(root_); }

  // The addresses of the only family; empty where there is none.
  std::vector<std::string> addresses() const {
    std::vector<std::string> result;
    const Families families = read();
    if (!families.empty())
      for (const Accelerator& device : families[0].devices) result.push_back(device.pci_address);
    return result;
  }

 private:
  std::string root_;
};

using Addresses = std::vector<std::string>;

const std::string uuid_a = "GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f";
const std::string uuid_b = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";

TEST(Accelerators, NvidiaInTheOrderOfTheirAddresses) {
  Machine machine("nvidia");
  machine.nvidia("0000:CA:00.0", uuid_b, 0).nvidia("0000:07:00.0", uuid_a, 1, "GPU Excluded:\t No\n");
  machine.file("/dev/nvidia0").file("/dev/nvidia1").file("/dev/nvidiactl").file("/dev/nvidia-uvm");
  EXPECT_EQ(machine.read(),
            (Families{{AcceleratorKind::cuda, {{"0000:07:00.0", uuid_a, {}}, {"0000:ca:00.0", uuid_b, {}}}}}));
}

TEST(Accelerators, NvidiaThatAContainerOrTheDriverKeepsAwayDoNotCount) {
  Machine machine("kept");
  machine.nvidia("0000:07:00.0", uuid_a, 0).nvidia("0000:0b:00.0", uuid_b, 1).nvidia("0000:48:00.0", uuid_b, 2);
  machine.nvidia("0000:4c:00.0", uuid_b, 3, "GPU Excluded:\t Yes\n");
  EXPECT_EQ(machine.addresses(), (Addresses{"0000:07:00.0", "0000:0b:00.0", "0000:48:00.0"}));
  machine.file("/dev/nvidia1").file("/dev/nvidia3");
  EXPECT_EQ(machine.addresses(), (Addresses{"0000:0b:00.0"}));
}

TEST(Accelerators, NvidiaThatWasNotAskedYetHasNoUuid) {
  Machine machine("unasked");
  machine.nvidia("0000:07:00.0", "GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?", 0);
  EXPECT_EQ(machine.read(), (Families{{AcceleratorKind::cuda, {{"0000:07:00.0", "", {}}}}}));
}

TEST(Accelerators, NvidiaBehindAHiddenProcAreCountedByTheirNodes) {
  Machine machine("hidden");
  machine.file("/dev/nvidia2").file("/dev/nvidia5").file("/dev/nvidiactl").file("/dev/nvidia-caps/nvidia-cap1");
  EXPECT_EQ(machine.read(), (Families{{AcceleratorKind::cuda, {{}, {}}}}));
}

TEST(Accelerators, NvidiaInstancesAreNamedByTheirPlace) {
  Machine machine("mig");
  machine.nvidia("0000:07:00.0", uuid_a, 1).nvidia("0000:0b:00.0", uuid_b, 0);
  machine.mig(1, 1, 0).mig(1, 10, 0).mig(1, 2, 0).mig(1, 2, 1);
  machine.file("/proc/driver/nvidia/capabilities/mig/config", "DeviceFileMinor: 1\n");
  const std::string name = "MIG-" + uuid_a;
  EXPECT_EQ(machine.read(),
            (Families{{AcceleratorKind::cuda,
                       {{"0000:07:00.0", uuid_a, {name + "/1/0", name + "/2/0", name + "/2/1", name + "/10/0"}},
                        {"0000:0b:00.0", uuid_b, {}}}}}));
}

TEST(Accelerators, AmdInTheOrderOfTheirNodesWithoutProcessors) {
  Machine machine("amd");
  machine.kfd(0, "cpu_cores_count 96\nsimd_count 0\nlocation_id 0\ndomain 0\nunique_id 0\n");
  machine.kfd(10, "cpu_cores_count 0\nsimd_count 1216\nlocation_id 19200\ndomain 2\nunique_id 45514025410622983\n");
  machine.kfd(2, "cpu_cores_count 0\nsimd_count 1216\nlocation_id 29440\ndomain 0\nunique_id 0\n");
  // A partition of a device bears its number in the highest bits; one that the container may not use cannot be read.
  machine.kfd(3, "simd_count 152\nlocation_id 268464897\ndomain 1\n").kfd(4, "");
  machine.file("/dev/kfd");
  EXPECT_EQ(
      machine.read(),
      (Families{{AcceleratorKind::rocm,
                 {{"0000:73:00.0", "", {}}, {"0001:73:00.1", "", {}}, {"0002:4b:00.0", "GPU-00a1b2c3d4e5f607", {}}}}}));
}

TEST(Accelerators, IntelDiscreteOnesOncePerTile) {
  Machine machine("intel");
  machine.card(0, "0000:00:02.0", "i915", 128, "0x8086", "0x030000");  // the processor's own
  machine.card(1, "0000:9a:00.0", "xe", 130).card(2, "0000:29:00.0", "i915", 129);
  machine.card(3, "0000:03:00.0", "xe", 131, "0x8086", "0x030000");
  machine.file("/sys/devices/pci0000:00/0000:9a:00.0/tile0/gt0/id")
      .file("/sys/devices/pci0000:00/0000:9a:00.0/tile1/gt1/id");
  machine.file("/sys/class/drm/card1-DP-1/status", "disconnected\n");
  EXPECT_EQ(
      machine.read(),
      (Families{
          {AcceleratorKind::xpu,
           {{"0000:03:00.0", "", {}}, {"0000:29:00.0", "", {}}, {"0000:9a:00.0", "", {}}, {"0000:9a:00.0", "", {}}}}}));
}

TEST(Accelerators, IntelTilesOfTheOlderDriverAreUnitsOfTheCard) {
  Machine machine("units");
  machine.card(0, "0000:29:00.0", "i915", 128);
  machine.file("/sys/class/drm/card0/gt/gt0/id", "0\n").file("/sys/class/drm/card0/gt/gt1/id", "1\n");
  EXPECT_EQ(machine.addresses(), (Addresses{"0000:29:00.0", "0000:29:00.0"}));
}

TEST(Accelerators, OtherDisplayControllersAreNone) {
  Machine machine("displays");
  machine.card(0, "0000:03:00.0", "ast", 128, "0x1a03", "0x030000");
  machine.card(1, "0000:04:00.0", "vfio-pci", 129).card(2, "0000:05:00.0", "xe", 130, "0x8086", "0x020000");
  EXPECT_EQ(machine.read(), Families());
}

TEST(Accelerators, IntelWithoutAnOpenNodeIsNotOurs) {
  Machine host("host");
  host.card(0, "0000:29:00.0", "xe", 128);
  EXPECT_EQ(host.addresses(), Addresses{"0000:29:00.0"});
  Machine container("container");
  container.card(0, "0000:29:00.0", "xe", 128).card(1, "0000:3a:00.0", "xe", 129);
  fs::remove(testing::TempDir() + "accelerators_test_" + std::to_string(::getpid()) + "_container/dev/dri/renderD128");
  EXPECT_EQ(container.addresses(), Addresses{"0000:3a:00.0"});
}

TEST(Accelerators, AscendByTheirNodes) {
  Machine machine("ascend");
  for (const char* name : {"davinci0", "davinci1", "davinci10", "davinci_manager", "devmm_svm", "hisi_hdc"})
    machine.file(std::string("/dev/") + name);
  EXPECT_EQ(machine.read(), (Families{{AcceleratorKind::npu, {{}, {}, {}}}}));
}

TEST(Accelerators, FamiliesStandSideBySide) {
  Machine machine("mixed");
  machine.nvidia("0000:07:00.0", uuid_a, 0).kfd(1, "simd_count 256\nlocation_id 49408\n").file("/dev/davinci0");
  const Families families = machine.read();
  ASSERT_EQ(families.size(), 3U);
  EXPECT_EQ(families[0].kind, AcceleratorKind::cuda);
  EXPECT_EQ(families[1].kind, AcceleratorKind::rocm);
  EXPECT_EQ(families[2].kind, AcceleratorKind::npu);
}

TEST(Accelerators, AMachineWithoutAnyHasNone) { EXPECT_EQ(Machine("none").read(), Families()); }

TEST(Accelerators, ThisMachineCanBeRead) {
  for (const AcceleratorFamily& family : read_accelerators()) EXPECT_FALSE(family.devices.empty());
}

}  // namespace accelerators_test
}  // namespace launch

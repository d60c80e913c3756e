#include "launch/io/accelerators.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/files.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

namespace fs = std::filesystem;
using Accelerators = std::vector<Accelerator>;

std::string small_file(const fs::path& path) { return read_file(path.string(), std::size_t{64} * 1024); }

bool present(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Asks the kernel, which also knows the container's list of devices, without opening the device.
bool may_open(const fs::path& device) { return ::access(device.c_str(), R_OK | W_OK) == 0; }

// Entries of a folder that are named `prefix` and a number, by number.
std::map<int, fs::path> numbered_entries(const fs::path& folder, const std::string& prefix) {
  std::error_code error;
  std::map<int, fs::path> result;
  for (auto it = fs::directory_iterator(folder, error); it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix) || name.find_first_not_of("0123456789", prefix.size()) != std::string::npos) continue;
    if (const auto number = parse_int(std::string_view(name).substr(prefix.size()))) result[*number] = it->path();
  }
  return result;
}

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// NVIDIA's management library, opened at run time, because the driver may be absent and the library's version is the
// driver's.
class Nvml {
 public:
  Nvml() : library_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    running_ = function(start_, "nvmlInit_v2") && function(stop_, "nvmlShutdown") &&
               function(count_, "nvmlDeviceGetCount_v2") && function(device_, "nvmlDeviceGetHandleByIndex_v2") &&
               function(uuid_, "nvmlDeviceGetUUID") && function(pci_, "nvmlDeviceGetPciInfo_v3") && start_() == 0;
    // Drivers older than MIG lack these.
    has_mig_ = running_ && function(mig_count_, "nvmlDeviceGetMaxMigDeviceCount") &&
               function(mig_, "nvmlDeviceGetMigDeviceHandleByIndex");
  }
  // The library stays loaded: it has threads and exit handlers of its own.
  ~Nvml() {
    if (running_) stop_();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // nullopt if the library is not available.
  std::optional<Accelerators> devices() const {
    unsigned count = 0;
    if (!running_ || count_(&count) != 0) return std::nullopt;
    Accelerators result;
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      // A device that is broken or not ours still counts, as it does for PyTorch.
      result.push_back(device_(i, &device) == 0 ? described(device) : Accelerator());
    }
    return result;
  }

 private:
  using Device = struct NvmlDevice*;
  struct Pci {
    char old_address[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
  };
  static_assert(sizeof(Pci) == 68, "the library writes this much");

  template <class Function>
  bool function(Function& pointer, const char* name) {
    pointer = library_ == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library_, name));
    return pointer != nullptr;
  }

  std::string name_of(Device device) const {
    char text[96] = {};
    return uuid_(device, text, sizeof text - 1) == 0 ? text : "";
  }

  Accelerator described(Device device) const {
    Accelerator result;
    Pci pci{};
    if (pci_(device, &pci) == 0)
      result.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
    result.uuid = name_of(device);
    unsigned most = 0;
    if (!has_mig_ || mig_count_(device, &most) != 0) return result;
    for (unsigned i = 0; i < most; ++i) {
      Device instance = nullptr;
      if (mig_(device, i, &instance) == 0) result.mig_uuids.push_back(name_of(instance));
    }
    return result;
  }

  void* library_;
  bool running_ = false;
  bool has_mig_ = false;
  int (*start_)() = nullptr;
  int (*stop_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*device_)(unsigned, Device*) = nullptr;
  int (*uuid_)(Device, char*, unsigned) = nullptr;
  int (*pci_)(Device, Pci*) = nullptr;
  int (*mig_count_)(Device, unsigned*) = nullptr;
  int (*mig_)(Device, unsigned, Device*) = nullptr;
};

// What /proc says of one GPU.
struct NvidiaGpu {
  Accelerator device;
  int minor = -1;
  bool excluded = false;  // the driver was told to leave it alone
};

NvidiaGpu read_nvidia_gpu(const fs::path& folder) {
  NvidiaGpu gpu;
  gpu.device.pci_address = in_small_letters(folder.filename().string());
  std::istringstream lines(small_file(folder / "information"));
  for (std::string line; std::getline(lines, line);) {
    const auto colon = std::min(line.find(':'), line.size());
    const std::string_view key = trim(std::string_view(line).substr(0, colon));
    const std::string_view value = trim(std::string_view(line).substr(std::min(colon + 1, line.size())));
    // Question marks mean that nobody has asked the device for its UUID yet.
    if (key == "GPU UUID" && value.find('?') == std::string_view::npos) gpu.device.uuid = value;
    if (key == "Device Minor") gpu.minor = parse_int(value).value_or(-1);
    if (key == "GPU Excluded" || key == "Blacklisted") gpu.excluded = value == "Yes";
  }
  return gpu;
}

std::vector<std::string> mig_instances(const fs::path& nvidia, const NvidiaGpu& gpu) {
  std::vector<std::string> result;
  const fs::path folder = nvidia / "capabilities" / fmt::format("gpu{}", gpu.minor) / "mig";
  for (const auto& [instance, path] : numbered_entries(folder, "gi"))
    for (const auto& [part, access] : numbered_entries(path, "ci"))
      result.push_back(fmt::format("MIG-{}/{}/{}", gpu.device.uuid, instance, part));
  return result;
}

Accelerators nvidia_in_proc(const fs::path& nvidia, const std::map<int, fs::path>& nodes) {
  std::error_code error;
  std::map<std::string, Accelerator> by_address;
  for (auto it = fs::directory_iterator(nvidia / "gpus", error); it != fs::directory_iterator(); it.increment(error)) {
    NvidiaGpu gpu = read_nvidia_gpu(it->path());
    const auto node = nodes.find(gpu.minor);
    const bool ours = nodes.empty() || gpu.minor < 0 || (node != nodes.end() && may_open(node->second));
    if (gpu.excluded || !ours) continue;
    gpu.device.mig_uuids = mig_instances(nvidia, gpu);
    by_address[gpu.device.pci_address] = gpu.device;
  }
  Accelerators result;
  for (auto& [address, device] : by_address) result.push_back(std::move(device));
  return result;
}

// The first two capabilities are the administrator's; all others belong to an instance.
bool may_use_mig(const fs::path& root, const Accelerators& devices) {
  const auto capabilities = numbered_entries(root / "dev/nvidia-caps", "nvidia-cap");
  return capabilities.upper_bound(2) != capabilities.end() ||
         std::any_of(devices.begin(), devices.end(), [](const auto& device) { return !device.mig_uuids.empty(); });
}

Accelerators read_nvidia(const fs::path& root, bool recorded) {
  const auto nodes = numbered_entries(root / "dev", "nvidia");
  Accelerators result = nvidia_in_proc(root / "proc/driver/nvidia", nodes);
  const bool hidden = !present(root / "proc/driver/nvidia/gpus");
  if (hidden)
    for (const auto& [number, node] : nodes)
      if (may_open(node)) result.emplace_back();
  // If there are no nodes, /proc may show the host's devices to a container, or the library will still make the nodes.
  const bool doubtful = nodes.empty() && !result.empty();
  const bool nameless =
      std::any_of(result.begin(), result.end(), [](const Accelerator& device) { return device.uuid.empty(); });
  const bool ask = doubtful || nameless || may_use_mig(root, result) || present(root / "dev/dxg");
  if (recorded || !ask) return result;
  if (auto devices = Nvml().devices()) return *devices;
  return doubtful ? Accelerators() : result;
}

std::map<std::string, unsigned long long> kfd_properties(const fs::path& node) {
  std::istringstream lines(small_file(node / "properties"));
  std::map<std::string, unsigned long long> result;
  std::string name;
  for (unsigned long long value = 0; lines >> name >> value;) result[name] = value;
  return result;
}

Accelerators read_amd(const fs::path& root) {
  if (present(root / "dev/kfd") && !may_open(root / "dev/kfd")) return {};
  Accelerators result;
  // The kernel lets nobody read the properties of a device that the container may not use.
  for (const auto& [number, node] : numbered_entries(root / "sys/class/kfd/kfd/topology/nodes", "")) {
    auto property = kfd_properties(node);
    if (property["simd_count"] == 0) continue;
    Accelerator device;
    // Bus, device and function; the highest bits number the partitions of one device.
    const auto place = property["location_id"];
    device.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", property["domain"], place >> 8U & 0xffU,
                                     place >> 3U & 0x1fU, place & 7U);
    if (property["unique_id"] != 0) device.uuid = fmt::format("GPU-{:016x}", property["unique_id"]);
    result.push_back(std::move(device));
  }
  return result;
}

bool is_intel_display(const fs::path& device) {
  std::error_code error;
  const std::string driver = fs::read_symlink(device / "driver", error).filename().string();
  const std::string pci_class = small_file(device / "class");
  const bool display = pci_class.starts_with("0x0300") || pci_class.starts_with("0x0380");
  return trim(small_file(device / "vendor")) == "0x8086" && display && (driver == "xe" || driver == "i915");
}

// Each tile has its own folder: with the driver xe below the device, with i915 as a graphics unit of the card.
std::size_t count_tiles(const fs::path& card, const fs::path& device) {
  const std::size_t units =
      std::max(numbered_entries(device, "tile").size(), numbered_entries(card / "gt", "gt").size());
  return std::max<std::size_t>(1, units);
}

Accelerators read_intel(const fs::path& root) {
  std::map<std::string, std::size_t> tiles;  // by address
  for (const auto& [number, card] : numbered_entries(root / "sys/class/drm", "card")) {
    std::error_code error;
    const fs::path device = fs::canonical(card / "device", error);
    if (error || !is_intel_display(device)) continue;
    // The processor's own graphics are always there, and have no memory of their own.
    const std::string address = device.filename().string();
    if (address.ends_with(":00:02.0") && !present(card / "lmem_total_bytes")) continue;
    const auto nodes = numbered_entries(device / "drm", "renderD");
    const bool ours = std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) {
      return may_open(root / "dev/dri" / node.second.filename());
    });
    if (ours) tiles[address] = count_tiles(card, device);
  }
  Accelerators result;
  for (const auto& [address, count] : tiles) result.insert(result.end(), count, Accelerator{address, "", {}});
  return result;
}

Accelerators read_ascend(const fs::path& root) {
  Accelerators result;
  for (const auto& [number, node] : numbered_entries(root / "dev", "davinci"))
    if (may_open(node)) result.emplace_back();
  return result;
}

}  // namespace

std::vector<AcceleratorFamily> read_accelerators(const std::string& root) {
  const fs::path top = root.empty() ? fs::path("/") : fs::path(root);
  std::vector<AcceleratorFamily> families = {{AcceleratorKind::cuda, read_nvidia(top, !root.empty())},
                                             {AcceleratorKind::rocm, read_amd(top)},
                                             {AcceleratorKind::xpu, read_intel(top)},
                                             {AcceleratorKind::npu, read_ascend(top)}};
  std::erase_if(families, [](const AcceleratorFamily& family) { return family.devices.empty(); });
  return families;
}

}  // namespace launch

#include "launch/io/gpu_library.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/fd.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

namespace launch {
namespace {

constexpr const char* nvidia_library = "libnvidia-ml.so.1";
constexpr unsigned most_gpu_processes = 1024;  // on one GPU

// ---- the library's own types and numbers

using NvmlHandle = struct NvmlHandleOfDevice*;

struct NvmlMemory {
  unsigned long long total, free, used;
};

struct NvmlUtilization {
  unsigned gpu, memory;
};

// Of nvmlDeviceGetComputeRunningProcesses_v2 and _v3.
struct NvmlProcess {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(NvmlProcess) == 24, "the library writes this much");

constexpr unsigned long long nvml_unknown = ~0ULL;

// ---- in the process that may hang

class GpuLibrary {
 public:
  // Why it cannot be used; empty: it can.
  std::string open() {
    library_ = ::dlopen(nvidia_library, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return ::dlerror();
    const bool whole = find(start_, "nvmlInit_v2") && find(count_, "nvmlDeviceGetCount_v2") &&
                       find(device_, "nvmlDeviceGetHandleByIndex_v2");
    if (!whole) return fmt::format("{} lacks a function", nvidia_library);
    find(uuid_, "nvmlDeviceGetUUID");
    find(name_, "nvmlDeviceGetName");
    find(memory_, "nvmlDeviceGetMemoryInfo");
    find(utilization_, "nvmlDeviceGetUtilizationRates");
    if (!find(processes_, "nvmlDeviceGetComputeRunningProcesses_v3"))
      find(processes_, "nvmlDeviceGetComputeRunningProcesses_v2");
    const int code = start_();
    return code == 0 ? "" : fmt::format("{} finds no driver (error {})", nvidia_library, code);
  }

  unsigned count() const {
    unsigned count = 0;
    return count_(&count) == 0 ? count : 0;
  }

  // A device that is broken or not ours still counts.
  GpuFact gpu(unsigned index) const {
    GpuFact gpu;
    NvmlHandle device = nullptr;
    if (device_(index, &device) != 0) return gpu;
    gpu.uuid = text(uuid_, device);
    gpu.name = text(name_, device);
    NvmlMemory memory{};
    if (memory_ != nullptr && memory_(device, &memory) == 0) {
      gpu.used_bytes = static_cast<std::int64_t>(memory.used);
      gpu.total_bytes = static_cast<std::int64_t>(memory.total);
    }
    NvmlUtilization utilization{};
    if (utilization_ != nullptr && utilization_(device, &utilization) == 0)
      gpu.busy_percent = static_cast<int>(utilization.gpu);
    gpu.processes = processes(device);
    return gpu;
  }

 private:
  using TextFunction = int (*)(NvmlHandle, char*, unsigned);

  template <class Function>
  bool find(Function& pointer, const char* name) {
    pointer = reinterpret_cast<Function>(::dlsym(library_, name));
    return pointer != nullptr;
  }

  static std::string text(TextFunction function, NvmlHandle device) {
    char text[96] = {};
    return function != nullptr && function(device, text, sizeof text - 1) == 0 ? text : "";
  }

  std::vector<GpuProcess> processes(NvmlHandle device) const {
    std::vector<NvmlProcess> found(most_gpu_processes);
    unsigned count = most_gpu_processes;
    if (processes_ == nullptr || processes_(device, &count, found.data()) != 0) return {};
    found.resize(std::min(count, most_gpu_processes));
    std::vector<GpuProcess> result;
    for (const NvmlProcess& one : found) {
      GpuProcess process{static_cast<pid_t>(one.pid), std::nullopt};
      if (one.bytes != nvml_unknown) process.bytes = static_cast<std::int64_t>(one.bytes);
      result.push_back(process);
    }
    return result;
  }

  void* library_ = nullptr;
  int (*start_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*device_)(unsigned, NvmlHandle*) = nullptr;
  TextFunction uuid_ = nullptr;
  TextFunction name_ = nullptr;
  int (*memory_)(NvmlHandle, NvmlMemory*) = nullptr;
  int (*utilization_)(NvmlHandle, NvmlUtilization*) = nullptr;
  int (*processes_)(NvmlHandle, unsigned*, NvmlProcess*) = nullptr;
};

void tell_of_gpus(int output) {
  GpuLibrary library;
  const std::string fault = library.open();
  std::string lines = fault.empty() ? "" : no_gpus_line(fault);
  const unsigned count = fault.empty() ? library.count() : 0;
  for (unsigned i = 0; i < count; ++i) lines += to_lines(library.gpu(i));
  lines += end_of_gpus;
  write_all(output, lines);
}

bool is_gpu(std::string_view path) {
  constexpr std::string_view begin = "/dev/nvidia";
  return path.starts_with(begin) && path.size() > begin.size() &&
         std::isdigit(static_cast<unsigned char>(path[begin.size()])) != 0;
}

bool has_gpu_open(pid_t pid) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path files = fmt::format("/proc/{}/fd", pid);
  for (auto it = fs::directory_iterator(files, error); it != fs::directory_iterator(); it.increment(error)) {
    std::error_code gone;
    if (is_gpu(fs::read_symlink(it->path(), gone).native())) return true;
  }
  return false;
}

}  // namespace

Result<SideProcess> ask_gpus() { return SideProcess::start(tell_of_gpus); }

Result<GpuFacts> answer_of_gpus(SideProcess process, Time deadline) {
  const auto lines = process.rest(deadline);
  if (lines) return parse_gpu_facts(*lines);
  process.abandon();  // its end may take as long as the driver likes
  if (lines.error().code != ErrorCode::timeout) return lines.error();
  return Error{ErrorCode::timeout, "NVIDIA's library does not answer"};
}

Result<GpuFacts> read_gpus(Duration limit) {
  auto process = ask_gpus();
  if (!process) return process.error();
  return answer_of_gpus(*std::move(process), later(now(), limit));
}

bool have_gpu_open(const std::vector<pid_t>& pids) { return std::any_of(pids.begin(), pids.end(), has_gpu_open); }

}  // namespace launch

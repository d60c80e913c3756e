#include "launch/io/host_probe.hpp"

#include "launch/core/base/environment.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/host/accelerator.hpp"
#include "launch/core/hosts/left_overs.hpp"
#include "launch/io/accelerators.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/interfaces.hpp"
#include "launch/io/process_list.hpp"
#include "launch/io/remote_place.hpp"
#include "launch/io/side_process.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration longest_python = 20s;
constexpr Duration longest_gpu_tool = 20s;
constexpr std::int64_t bytes_per_mib = std::int64_t{1} << 20;

// PyTorch says of itself which version it is without being loaded, which may take a minute.
constexpr const char* python_code =
    "import sys\n"
    "print('%d.%d.%d' % sys.version_info[:3], flush=True)\n"
    "try:\n"
    "  import importlib.util, os, runpy\n"
    "  folder = importlib.util.find_spec('torch').submodule_search_locations[0]\n"
    "  torch = runpy.run_path(os.path.join(folder, 'version.py'))\n"
    "  print(torch['__version__'])\n"
    "  print('CUDA ' + torch['cuda'] if torch.get('cuda') else 'ROCm ' + torch['hip'] if torch.get('hip') else '')\n"
    "except Exception:\n"
    "  pass\n";

// What a program prints, whole lines only; an error if it does not end in time. It is left behind then, since what
// hangs in the kernel cannot be waited for.
Result<std::string> output_of(const SideProgram& program, Duration limit) {
  auto process = SideProcess::start(program);
  if (!process) return process.error();
  auto text = process->rest(later(now(), limit));
  if (text) return text;
  process->abandon();
  if (text.error().code != ErrorCode::timeout) return text;
  return Error{ErrorCode::timeout, fmt::format("{} gave no answer within {}", program.argv.front(), to_text(limit))};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(trim(line));
  return lines;
}

void look_at_python(const ProbeRequest& request, SurveyedPython& python) {
  python.path = request.python;
  if (python.path.empty()) return;
  const auto said = output_of({python.path, {python.path, "-c", python_code}, request.env}, longest_python);
  if (!said) {
    python.fault = said.error().message;
    return;
  }
  auto lines = lines_of(*said);
  lines.resize(std::max<std::size_t>(lines.size(), 3));
  python.version = lines[0];
  python.torch = lines[1];
  python.torch_for = lines[2];
  if (python.version.empty()) python.fault = "it ends without an answer";
}

std::string kind_text(AcceleratorKind kind) {
  switch (kind) {
    case AcceleratorKind::cuda:
      return "CUDA";
    case AcceleratorKind::rocm:
      return "ROCm";
    case AcceleratorKind::xpu:
      return "XPU";
    case AcceleratorKind::npu:
      return "NPU";
  }
  return "";
}

void look_at_gpus(const ProbeRequest& request, SurveyedGpus& gpus) {
  for (const AcceleratorFamily& family : read_accelerators()) {
    gpus.kind = kind_text(family.kind);
    gpus.devices = static_cast<int>(visible_accelerators(family, Environment::from_lines(request.env)).size());
    break;
  }
  if (request.nvidia_smi.empty()) return;
  const SideProgram tool{request.nvidia_smi, {"nvidia-smi", gpu_query, "--format=csv,noheader,nounits"}, request.env};
  const auto said = output_of(tool, longest_gpu_tool);
  if (said) gpus.gpus = parse_gpu_lines(*said);
  if (!said) {
    gpus.fault = said.error().message + " (does the driver hang?)";
  } else if (gpus.gpus.empty() && gpus.devices > 0) {
    gpus.fault = "nvidia-smi names no GPU: " + shown(lines_of(*said).front());
  }
}

std::unordered_set<int> pids_on_gpus(const ProbeRequest& request) {
  std::unordered_set<int> pids;
  const SideProgram tool{
      request.nvidia_smi, {"nvidia-smi", gpu_process_query, "--format=csv,noheader,nounits"}, request.env};
  const auto said = request.nvidia_smi.empty() ? Result<std::string>("") : output_of(tool, longest_gpu_tool);
  if (said)
    for (const GpuProcessLine& one : parse_gpu_process_lines(*said)) pids.insert(one.pid);
  return pids;
}

SurveyedSpace space_in(const std::string& path) {
  SurveyedSpace space;
  space.path = path;
  struct statvfs found {};
  if (::statvfs(path.c_str(), &found) != 0) return space;
  const auto mib = [&](std::uint64_t blocks) {
    return static_cast<std::int64_t>(blocks * found.f_frsize / static_cast<std::uint64_t>(bytes_per_mib));
  };
  space.total_mib = mib(found.f_blocks);
  const bool takes_files = found.f_files == 0 || found.f_favail > 0;
  space.free_mib = takes_files ? mib(found.f_bavail) : 0;
  return space;
}

std::int64_t limit_in_units(int which, std::int64_t unit) {
  rlimit limit{};
  if (::getrlimit(static_cast<decltype(RLIMIT_NOFILE)>(which), &limit) != 0) return not_known;
  return limit.rlim_cur == RLIM_INFINITY ? limitless : static_cast<std::int64_t>(limit.rlim_cur) / unit;
}

void look_up_own_name(const std::string& hostname, HostSurvey& survey) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(hostname.c_str(), nullptr, &hints, &first);
  if (error != 0) survey.name_fault = ::gai_strerror(error);
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next) {
    asio::ip::tcp::endpoint endpoint;
    if (at->ai_addrlen > endpoint.capacity()) continue;
    std::copy_n(reinterpret_cast<const unsigned char*>(at->ai_addr), at->ai_addrlen,
                reinterpret_cast<unsigned char*>(endpoint.data()));
    survey.name_leads_to.push_back(endpoint.address().to_string());
  }
  if (first != nullptr) ::freeaddrinfo(first);
}

std::vector<SurveyedInterface> look_at_interfaces() {
  std::vector<SurveyedInterface> all;
  for (const InterfaceAddress& one : interface_addresses()) {
    if (!one.up || one.loopback || is_link_local(one.address)) continue;
    auto at = std::find_if(all.begin(), all.end(), [&](const auto& known) { return known.name == one.interface; });
    if (at == all.end()) at = all.insert(at, {one.interface, {}, one.mtu});
    at->addresses.push_back(one.address.to_string());
  }
  return all;
}

int count_rdma_devices() {
  std::error_code error;
  std::filesystem::directory_iterator at("/sys/class/infiniband", error);
  int count = 0;
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) ++count;
  return count;
}

using Output = asio::posix::stream_descriptor;

// Each line has all that is known so far.
asio::awaitable<void> read_surveys(SideProcess& process, HostSurvey& survey, Time until) {
  const auto executor = co_await asio::this_coro::executor;
  const auto output = std::make_shared<Output>(executor, ::fcntl(process.descriptor(), F_DUPFD_CLOEXEC, 0));
  asio::steady_timer end(executor, to_steady(until));
  end.async_wait([output](const boost::system::error_code& error) {
    boost::system::error_code ignored;
    if (!error) output->cancel(ignored);
  });
  for (;;) {
    auto line = process.line(now());
    if (line) {
      if (auto read = parse_survey(*line)) survey = *std::move(read);
    } else if (line.error().code != ErrorCode::timeout || now() >= until) {
      co_return;
    } else {
      (void)co_await output->async_wait(Output::wait_read, as_values);
    }
  }
}

}  // namespace

void probe_host(const ProbeRequest& request, const std::function<void(const HostSurvey&)>& tell) {
  HostSurvey survey;
  survey.machine = machine();
  survey.limits = {limit_in_units(RLIMIT_NOFILE, 1), limit_in_units(RLIMIT_NPROC, 1),
                   limit_in_units(RLIMIT_MEMLOCK, bytes_per_mib)};
  survey.interfaces = look_at_interfaces();
  survey.rdma_devices = count_rdma_devices();
  const auto begin = [&](const char* check) {
    survey.unfinished = check;
    tell(survey);
  };
  begin("name");
  look_up_own_name(request.hostname, survey);
  begin("shm");
  survey.shm = space_in("/dev/shm");
  begin("tmp");
  survey.tmp = space_in(request.temp_folder);
  begin("python");
  look_at_python(request, survey.python);
  begin("gpus");
  look_at_gpus(request, survey.gpus);
  begin("processes");
  survey.processes = left_overs(seen_processes(pids_on_gpus(request)), ::getpid());
  begin("");
}

asio::awaitable<HostSurvey> survey_host(ProbeRequest request, Duration limit) {
  HostSurvey survey;
  survey.unfinished = "job";
  auto process = SideProcess::start([&](int output) {
    probe_host(request, [&](const HostSurvey& known) { write_all(output, to_json(known) + '\n'); });
  });
  if (!process) co_return survey;
  auto reading = read_surveys(*process, survey, later(now(), limit));
  co_await std::move(reading);
  if (!survey.unfinished.empty()) process->abandon();
  co_return survey;
}

}  // namespace launch

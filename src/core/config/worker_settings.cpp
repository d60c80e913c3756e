#include "launch/core/config/worker_settings.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/config/program.hpp"
#include "launch/core/options/option_table.hpp"

#include <algorithm>
#include <set>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr int max_workers_per_node = 16'384;
constexpr double least_hook_timeout_s = 0.1;
constexpr double most_hook_timeout_s = 604'800;
constexpr double most_gpu_wait_s = 86'400;

// What a word of --nproc-per-node counts.
struct DeviceWord {
  std::string_view word;
  std::string_view noun;
  std::vector<AcceleratorKind> kinds;
};

const std::vector<DeviceWord>& device_words() {
  using enum AcceleratorKind;
  static const std::vector<DeviceWord> words{
      {"gpu", "GPU", {cuda, rocm}}, {"xpu", "XPU", {xpu}}, {"npu", "NPU", {npu}}};
  return words;
}

int count_devices(const std::vector<AcceleratorKind>& kinds, const HostFacts& facts) {
  return static_cast<int>(first_visible(facts.accelerators, kinds, facts.env).size());
}

Result<int> count_workers(const Options& options, const HostFacts& facts) {
  using enum AcceleratorKind;
  const Setting<std::string>& count = options.nproc_per_node;
  if (count.value == "cpu") return facts.usable_cpus;
  if (count.value == "auto") {
    const int devices = count_devices(all_accelerator_kinds, facts);
    if (devices == 0 && count.source == Source::cluster) return 1;  // the user did not ask for one for each CPU
    return devices > 0 ? devices : facts.usable_cpus;
  }
  for (const DeviceWord& word : device_words()) {
    if (count.value != word.word) continue;
    const int devices = count_devices(word.kinds, facts);
    if (devices > 0) return devices;
    return usage_error(
        fmt::format("{}: this node has no visible {}; give a number, cpu or auto", as_typed(count), word.noun));
  }
  const auto number = parse_int(count.value);
  if (!number) {
    return usage_error(fmt::format("{}: expected a number of workers, auto, cpu, gpu, xpu or npu", as_typed(count)));
  }
  if (*number >= 1 && *number <= max_workers_per_node) return *number;
  return usage_error(
      fmt::format("{} is not a possible number of workers on a node (1 to {})", as_typed(count), max_workers_per_node));
}

// An environment that was moved or removed since it was activated.
void notice_missing_environment(const HostFacts& facts, Config& config) {
  const std::string venv = facts.env.get("VIRTUAL_ENV").value_or("");
  const std::string python = interpreter_of(config.program);
  if (venv.empty() || python.empty() || facts.env.get("PYTHON_EXEC") || python.starts_with(venv)) return;
  config.notices.push_back(fmt::format("{} has no bin/python; using {}", as_typed("VIRTUAL_ENV", venv), python));
}

Status settle_program(const Options& options, const HostFacts& facts, Config& config) {
  if (options.program.empty()) return {};  // a check without a job
  auto program = resolve_program(options, facts);
  if (!program) return program.error();
  config.program = *std::move(program);
  notice_missing_environment(facts, config);
  return {};
}

// Counts as torchrun does: the entries of the list as they are, whatever they name.
Status settle_virtual_devices(const Options& options, const HostFacts& facts, Config& config) {
  if (!options.virtual_local_rank.value) return {};
  const auto list = facts.env.get("CUDA_VISIBLE_DEVICES");
  const auto entries = split(list ? std::string_view(*list) : std::string_view(), ',');
  for (int rank = 0; rank < config.nproc_per_node; ++rank) {
    if (!list) {
      config.virtual_device.push_back(std::to_string(rank));
    } else if (static_cast<std::size_t>(rank) < entries.size()) {
      config.virtual_device.emplace_back(trim(entries[static_cast<std::size_t>(rank)]));
    } else {
      return usage_error(fmt::format("{}: {} workers need a device each, but CUDA_VISIBLE_DEVICES={} has {}",
                                     options.virtual_local_rank.origin, config.nproc_per_node, shown(*list),
                                     entries.size()));
    }
  }
  return {};
}

Status settle_binding(const Options& options, const HostFacts& facts, Config& config) {
  if (!options.numa_binding.given()) return {};
  const BindingMode mode = parse_binding_mode(options.numa_binding.value).value();  // the table has no other choices
  auto bindings = plan_binding(mode, facts.topology, facts.device_nodes, config.nproc_per_node);
  if (!bindings) return usage_error(fmt::format("{}: {}", as_typed(options.numa_binding), bindings.error().message));
  config.bindings = *std::move(bindings);
  return {};
}

// Cores, not hardware threads, if the topology was read.
int usable_cores(const HostFacts& facts) {
  const std::set<int> allowed(facts.topology.allowed.begin(), facts.topology.allowed.end());
  std::set<std::pair<int, int>> cores;
  for (const CpuTopology::Cpu& cpu : facts.topology.cpus)
    if (allowed.contains(cpu.index)) cores.emplace(cpu.package, cpu.core);
  return cores.empty() ? facts.usable_cpus : static_cast<int>(cores.size());
}

Status settle_threads(const Options& options, const HostFacts& facts, Config& config) {
  const Setting<std::string>& threads = options.omp_threads;
  if (threads.given()) {
    const auto number = parse_int(threads.value);
    if (threads.value != "auto" && (!number || *number < 1)) {
      return usage_error(fmt::format("{}: expected a number above 0, or auto", as_typed(threads)));
    }
    const int count = number ? *number : std::max(1, usable_cores(facts) / config.nproc_per_node);
    config.worker_env.set("OMP_NUM_THREADS", std::to_string(count));
  } else if (config.nproc_per_node > 1 && !facts.env.get("OMP_NUM_THREADS")) {
    config.worker_env.set("OMP_NUM_THREADS", "1");
    config.notices.push_back(fmt::format(
        "OMP_NUM_THREADS is not set: using 1 for each of the {} workers; set it, or share the cores among them "
        "with --omp-threads=auto",
        config.nproc_per_node));
  }
  return {};
}

// If no node has this rank, no worker gets the input: the number of workers is unknown until the nodes have met.
Status settle_input(const Options& options, const HostFacts&, Config& config) {
  const Setting<std::string>& choice = options.stdin_rank;
  if (!choice.given()) return {};
  const auto rank = parse_int(choice.value);
  if (choice.value == "all") {
    config.input.readers = InputChoice::Readers::each;
  } else if (choice.value == "none") {
    config.input.readers = InputChoice::Readers::none;
  } else if (!rank || *rank < 0) {
    return usage_error(fmt::format("{}: expected the rank of a worker (0 or more), all or none", as_typed(choice)));
  } else if (config.nnodes() == 1 && *rank >= config.nproc_per_node) {
    return usage_error(fmt::format("{}: expected a rank from 0 to {}, since the job has {} worker{}", as_typed(choice),
                                   config.nproc_per_node - 1, config.nproc_per_node,
                                   config.nproc_per_node == 1 ? "" : "s"));
  } else {
    config.input = {InputChoice::Readers::one, GlobalRank(*rank)};
  }
  return {};
}

void notice_without_effect(const Setting<std::string>& setting, std::string_view reason, Config& config) {
  if (setting.given()) config.notices.push_back(fmt::format("{} has no effect: {}", as_typed(setting), reason));
}

Status settle_environment(const Options& options, const HostFacts& facts, Config& config) {
  config.role = options.role.value;
  config.identical_workers = facts.env.get("TORCH_ELASTIC_WORKER_IDENTICAL") == "1";
  config.worker_env = facts.env;
  config.worker_env.set("TORCHELASTIC_SIGNALS_TO_HANDLE", options.signals_to_handle.value);
  if (!facts.env.get("TORCH_NCCL_ASYNC_ERROR_HANDLING")) config.worker_env.set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  notice_without_effect(options.start_method, "every worker is a process of its own", config);
  return {};
}

// Of torchrun's watchdog: only "1" turns it on.
Status settle_timers(const Options&, const HostFacts& facts, Config& config) {
  if (facts.env.get("TORCHELASTIC_ENABLE_FILE_TIMER") != "1") return {};
  const auto chosen = facts.env.get("TORCHELASTIC_TIMER_FILE");
  if (chosen && chosen->empty()) {
    return usage_error(fmt::format("{}: expected the path of a file to create for TORCHELASTIC_ENABLE_FILE_TIMER=1",
                                   as_typed("TORCHELASTIC_TIMER_FILE", *chosen)));
  }
  std::string folder = facts.env.get("TMPDIR").value_or("");
  if (folder.empty()) folder = "/tmp";
  config.timer_file = chosen.value_or(fmt::format("{}/watchdog_timer_{}", folder, facts.fresh_id));
  config.worker_env.set("TORCHELASTIC_TIMER_FILE", config.timer_file);
  return {};
}

Status settle_hooks(const Options& options, const HostFacts&, Config& config) {
  const double timeout = options.hook_timeout.value;
  if (timeout != 0 && !(timeout >= least_hook_timeout_s && timeout <= most_hook_timeout_s)) {
    return usage_error(fmt::format("{}: expected seconds from {} to {}, or 0", as_typed(options.hook_timeout),
                                   least_hook_timeout_s, most_hook_timeout_s));
  }
  config.hooks = {options.before_workers.value, options.after_workers.value, of_seconds(timeout), {}};
  return {};
}

Status settle_gpu_wait(const Options& options, const HostFacts&, Config& config) {
  const double wait = options.wait_gpu_memory.value;
  if (!(wait >= 0 && wait <= most_gpu_wait_s)) {
    return usage_error(
        fmt::format("{}: expected seconds from 0 to {}", as_typed(options.wait_gpu_memory), most_gpu_wait_s));
  }
  config.hooks.wait_gpu_memory = of_seconds(wait);
  return {};
}

Status settle_health_port(const Options&, const HostFacts& facts, Config& config) {
  constexpr const char* name = "TORCHELASTIC_HEALTH_CHECK_PORT";
  if (const auto port = facts.env.get(name); port && !port->empty())
    config.notices.push_back(fmt::format("{} has no effect: launch opens no health port", as_typed(name, *port)));
  return {};
}

bool was_given(const Options& options, const OptionMember& member) {
  const auto given = [&options](auto at) {
    if constexpr (std::is_same_v<decltype(at), std::monostate>) {
      return false;
    } else {
      return (options.*at).given();
    }
  };
  return std::visit(given, member);
}

// An option of launch behind the program is an argument of the program, which may not be what was meant.
Status notice_late_options(const Options& options, const HostFacts&, Config& config) {
  for (const std::string& word : options.program_args) {
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    for (const OptionRow& row : option_table()) {
      const bool of_the_job = row.group == OptionGroup::nodes || row.group == OptionGroup::rendezvous;
      if (!of_the_job || (row.name != name && underscored(row.name) != name) || was_given(options, row.member))
        continue;
      config.notices.push_back(fmt::format(
          "{} comes after {}, so it is passed to it as an argument; give options of launch before the program", name,
          shown(options.program)));
    }
  }
  return {};
}

}  // namespace

Status settle_workers(const Options& options, const HostFacts& facts, Config& config) {
  auto count = count_workers(options, facts);
  if (!count) return count.error();
  config.nproc_per_node = *count;
  for (const auto step :
       {settle_program, settle_environment, settle_virtual_devices, settle_binding, settle_threads, settle_input,
        settle_hooks, settle_gpu_wait, settle_timers, settle_health_port, notice_late_options}) {
    if (Status done = step(options, facts, config); !done) return done;
  }
  return {};
}

}  // namespace launch

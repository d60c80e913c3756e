#include "launch/core/workers/worker_spec.hpp"

#include "launch/core/base/template_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace launch {
namespace {

constexpr std::array<const char*, 4> names_of_one_worker{"LOCAL_RANK", "RANK", "ROLE_RANK", "TORCHELASTIC_ERROR_FILE"};

// A process that sees one device of several knows it as the first.
bool sees_one_device(const Environment& env) {
  constexpr std::array names{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
                             "ASCEND_RT_VISIBLE_DEVICES"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) {
    const std::string devices = env.get(name).value_or("");
    return !devices.empty() && !devices.starts_with('-') && devices != "NoDevFiles" &&
           devices.find(',') == std::string::npos;
  });
}

// The worker of a launch that is one task of several on its machine has the numbers of the task.
void set_place(const TaskPlace& place, Environment& env) {
  if (place.node.known() && place.nodes > 0) {  // else both are those of the launches
    env.set("GROUP_RANK", std::to_string(place.node.value));
    env.set("GROUP_WORLD_SIZE", std::to_string(place.nodes));
  }
  env.set("LOCAL_WORLD_SIZE", std::to_string(place.local_tasks));
}

int local_rank_of_task(const Config& config) {
  return sees_one_device(config.worker_env) ? 0 : config.place->local_task;
}

// The variables that all workers of this node share, as NAME=VALUE.
std::vector<std::string> shared_lines(const Config& config, const Round& round) {
  const Assignment& assignment = round.assignment;
  const Endpoint& master = round.master ? *round.master : config.store();
  Environment env = config.worker_env;
  env.set("GROUP_RANK", std::to_string(assignment.group_rank.value));
  env.set("GROUP_WORLD_SIZE", std::to_string(assignment.group_world_size));
  env.set("LOCAL_WORLD_SIZE", std::to_string(config.nproc_per_node));
  if (config.place) set_place(*config.place, env);
  env.set("WORLD_SIZE", std::to_string(assignment.world_size));
  env.set("ROLE_NAME", config.role);
  env.set("ROLE_WORLD_SIZE", std::to_string(assignment.role_world_size));
  env.set("MASTER_ADDR", master.host);
  env.set("MASTER_PORT", std::to_string(master.port));
  env.set("TORCHELASTIC_RUN_ID", config.run_id);
  env.set("TORCHELASTIC_USE_AGENT_STORE", config.serves_workers ? "True" : "False");
  env.set("TORCHELASTIC_RESTART_COUNT", std::to_string(round.restarts));
  env.set("TORCHELASTIC_MAX_RESTARTS", std::to_string(config.restarts.max_restarts));
  for (const char* name : names_of_one_worker) env.remove(name);
  if (!config.virtual_device.empty()) env.remove("CUDA_VISIBLE_DEVICES");
  return env.lines();
}

WorkerInput input_of(const InputChoice& choice, GlobalRank global_rank) {
  switch (choice.readers) {
    case InputChoice::Readers::shared:
      return WorkerInput::inherited;
    case InputChoice::Readers::one:
      return global_rank == choice.rank ? WorkerInput::inherited : WorkerInput::nothing;
    case InputChoice::Readers::each:
      return WorkerInput::copy;
    case InputChoice::Readers::none:
      return WorkerInput::nothing;
  }
  return WorkerInput::nothing;
}

}  // namespace

PrefixFacts prefix_facts(const Config& config, const Round& round) {
  return {.role = config.role,
          .host = config.hostname,
          .node_rank = round.assignment.group_rank,
          .base_rank = round.assignment.base_global_rank,
          .restarts = round.restarts,
          .nproc = config.nproc_per_node};
}

std::vector<WorkerSpec> make_worker_specs(const Config& config, const Round& round, const std::string& folder) {
  const Assignment& assignment = round.assignment;
  const std::vector<std::string> shared = shared_lines(config, round);
  std::vector<WorkerLogs> logs = plan_logs(config.logs, folder, config.nproc_per_node);
  std::vector<WorkerSpec> specs(static_cast<std::size_t>(config.nproc_per_node));
  for (LocalRank local_rank; local_rank.value < config.nproc_per_node; ++local_rank.value) {
    WorkerSpec& spec = specs[local_rank.index()];
    const std::string own_text = std::to_string(local_rank.value);
    const std::string local_text = config.place ? std::to_string(local_rank_of_task(config)) : own_text;
    spec.local_rank = local_rank;
    spec.global_rank = assignment.base_global_rank + local_rank;
    spec.input = input_of(config.input, spec.global_rank);
    spec.executable = config.program.executable;
    spec.argv = config.program.argv;
    for (std::size_t i = 1; i < spec.argv.size(); ++i)
      spec.argv[i] = substitute(spec.argv[i], {{"local_rank", local_text}});
    if (!folder.empty()) spec.error_file = folder + "/" + own_text + "/error.json";
    spec.env.reserve(shared.size() + names_of_one_worker.size() + 1);
    spec.env = shared;
    spec.env.push_back("LOCAL_RANK=" + (config.virtual_device.empty() ? local_text : "0"));
    if (!config.virtual_device.empty())
      spec.env.push_back("CUDA_VISIBLE_DEVICES=" + config.virtual_device[local_rank.index()]);
    spec.logs = std::move(logs[local_rank.index()]);
    if (!config.bindings.empty()) spec.binding = config.bindings[local_rank.index()];
    spec.env.push_back("RANK=" + std::to_string(spec.global_rank.value));
    spec.env.push_back("ROLE_RANK=" + std::to_string(assignment.base_role_rank + local_rank.value));
    spec.env.push_back("TORCHELASTIC_ERROR_FILE=" + spec.error_file);
  }
  return specs;
}

}  // namespace launch

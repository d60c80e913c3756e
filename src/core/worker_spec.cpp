#include "launch/core/worker_spec.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace launch {
namespace {

constexpr std::array<const char*, 4> names_of_one_worker{"LOCAL_RANK", "RANK", "ROLE_RANK", "TORCHELASTIC_ERROR_FILE"};

// What all workers of this node share, as NAME=VALUE.
std::vector<std::string> shared_lines(const Config& config, const Assignment& assignment) {
  Environment env = config.worker_env;
  env.set("GROUP_RANK", std::to_string(assignment.group_rank));
  env.set("GROUP_WORLD_SIZE", std::to_string(assignment.group_world_size));
  env.set("LOCAL_WORLD_SIZE", std::to_string(config.nproc_per_node));
  env.set("WORLD_SIZE", std::to_string(assignment.world_size));
  env.set("ROLE_NAME", config.role);
  env.set("ROLE_WORLD_SIZE", std::to_string(assignment.role_world_size));
  env.set("MASTER_ADDR", config.master.host);
  env.set("MASTER_PORT", std::to_string(config.master.port));
  env.set("TORCHELASTIC_RUN_ID", config.run_id);
  env.set("TORCHELASTIC_USE_AGENT_STORE", config.serves_workers ? "True" : "False");
  env.set("TORCHELASTIC_RESTART_COUNT", "0");
  env.set("TORCHELASTIC_MAX_RESTARTS", std::to_string(config.max_restarts));
  for (const char* name : names_of_one_worker) env.remove(name);
  if (!config.virtual_device.empty()) env.remove("CUDA_VISIBLE_DEVICES");
  return env.lines();
}

bool is_identifier_char(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// How many bytes of `text`, which begins behind a '$', name the macro; 0 when they do not.
std::size_t macro_size(std::string_view text) {
  constexpr std::string_view bare = "local_rank";
  constexpr std::string_view braced = "{local_rank}";
  if (text.starts_with(braced)) return braced.size();
  const bool named = text.starts_with(bare) && (text.size() == bare.size() || !is_identifier_char(text[bare.size()]));
  return named ? bare.size() : 0;
}

// Python's string.Template.safe_substitute with local_rank alone.
std::string expand(std::string_view text, const std::string& local_rank) {
  std::string result;
  for (auto dollar = text.find('$'); dollar != std::string_view::npos; dollar = text.find('$')) {
    result += text.substr(0, dollar);
    text.remove_prefix(dollar + 1);
    if (const std::size_t size = macro_size(text); size > 0) {
      result += local_rank;
      text.remove_prefix(size);
    } else {
      result += '$';
      if (text.starts_with('$')) text.remove_prefix(1);
    }
  }
  return result += text;
}

}  // namespace

std::vector<WorkerSpec> make_worker_specs(const Config& config, const Assignment& assignment,
                                          const std::string& error_folder) {
  const std::vector<std::string> shared = shared_lines(config, assignment);
  std::vector<WorkerSpec> specs(static_cast<std::size_t>(config.nproc_per_node));
  for (int local_rank = 0; local_rank < config.nproc_per_node; ++local_rank) {
    WorkerSpec& spec = specs[static_cast<std::size_t>(local_rank)];
    const std::string local_text = std::to_string(local_rank);
    spec.local_rank = local_rank;
    spec.global_rank = assignment.base_global_rank + local_rank;
    spec.executable = config.program.executable;
    spec.argv = config.program.argv;
    for (std::size_t i = 1; i < spec.argv.size(); ++i) spec.argv[i] = expand(spec.argv[i], local_text);
    if (!error_folder.empty()) spec.error_file = error_folder + "/" + local_text + "/error.json";
    spec.env.reserve(shared.size() + names_of_one_worker.size() + 1);
    spec.env = shared;
    spec.env.push_back("LOCAL_RANK=" + (config.virtual_device.empty() ? local_text : "0"));
    if (!config.virtual_device.empty())
      spec.env.push_back("CUDA_VISIBLE_DEVICES=" + config.virtual_device[static_cast<std::size_t>(local_rank)]);
    if (!config.bindings.empty()) spec.binding = config.bindings[static_cast<std::size_t>(local_rank)];
    spec.env.push_back("RANK=" + std::to_string(spec.global_rank));
    spec.env.push_back("ROLE_RANK=" + std::to_string(assignment.base_role_rank + local_rank));
    spec.env.push_back("TORCHELASTIC_ERROR_FILE=" + spec.error_file);
  }
  return specs;
}

}  // namespace launch

#include "launch/core/workers/explain.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/workers/hook.hpp"
#include "launch/core/workers/worker_spec.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

constexpr std::string_view free_port = "<a free port>";

using OrderedJson = nlohmann::ordered_json;

Assignment expected_assignment(const Config& config) {
  Assignment assignment;
  const NodeRank node_rank = std::max(config.node_rank(), NodeRank(0));  // c10d: as if it were the first
  assignment.group_rank = node_rank;
  assignment.group_world_size = config.nnodes();
  assignment.base_global_rank = GlobalRank(node_rank.value * config.nproc_per_node);
  assignment.world_size = config.nnodes() * config.nproc_per_node;
  assignment.base_role_rank = assignment.base_global_rank.value;
  assignment.role_world_size = assignment.world_size;
  return assignment;
}

Round expected_round(const Config& config) {
  Round round;
  round.assignment = expected_assignment(config);
  if (config.c10d() != nullptr) round.master = Endpoint{"<the node of rank 0>", 0};
  return round;
}

std::vector<WorkerSpec> expected_workers(const Config& config) {
  if (config.log_folder == "/dev/null") return make_worker_specs(config, expected_round(config), "");
  const std::string folder = config.log_folder.empty() ? "<temporary folder>" : config.log_folder;
  return make_worker_specs(config, expected_round(config), folder + "/<job>/attempt_0");
}

struct Variable {
  std::string name;
  std::string value;
};

// The variables that the worker has and launch itself does not have, or has with another value.
std::vector<Variable> changed_variables(const WorkerSpec& spec, const Config& config, const Environment& env) {
  std::vector<Variable> result;
  for (const std::string& line : spec.env) {
    const auto equals = line.find('=');
    Variable variable{line.substr(0, equals), line.substr(equals + 1)};
    if (env.get(variable.name) == variable.value) continue;
    if (variable.name == "MASTER_PORT" && (config.store().port == 0 || config.c10d() != nullptr))
      variable.value = free_port;
    result.push_back(std::move(variable));
  }
  std::sort(result.begin(), result.end(), [](const Variable& a, const Variable& b) { return a.name < b.name; });
  return result;
}

std::string_view source_text(const ShownSetting& setting) {
  if (setting.source == Source::initial) return "default";
  return setting.source == Source::flag ? "command line" : std::string_view(setting.origin);
}

std::string settings_text(const Options& options) {
  std::string result = "Settings:\n";
  for (const ShownSetting& setting : shown_settings(options)) {
    if (setting.source == Source::initial && setting.value.empty()) continue;
    result += fmt::format("  {:<28}{}  ({})\n", setting.name, shown(setting.value), source_text(setting));
  }
  return result;
}

std::string c10d_text(const Config& config, const ElasticSettings& settings) {
  return fmt::format(
      "One of {} to {} nodes, run id {}, rendezvous at {}; waits up to {} for the others.\n"
      "Ranks are assigned there; shown as if this were the first of {} equal nodes.\n",
      settings.nodes.min, settings.nodes.max, shown(config.run_id), config.store_text(), to_text(settings.join_timeout),
      config.nnodes());
}

std::string meeting_text(const Config& config) {
  if (config.c10d() != nullptr) return c10d_text(config, config.c10d()->settings);
  const std::string port = config.store().port == 0 ? std::string(free_port) : std::to_string(config.store().port);
  std::string result = fmt::format("Node {} of {}, run id {}, master {} port {}\n", config.node_rank().value,
                                   config.nnodes(), shown(config.run_id), config.store().host, port);
  if (config.nnodes() > 1) {
    result += fmt::format("Waits up to {} for all nodes; node 0 is {}.\n", to_text(config.rendezvous_timeout),
                          config.node_rank() == NodeRank(0) ? "this one" : "another one");
  }
  const Assignment ranks = expected_assignment(config);
  return result + fmt::format("Ranks {} to {} of {}{}\n", ranks.base_global_rank.value,
                              ranks.base_global_rank.value + config.nproc_per_node - 1, ranks.world_size,
                              config.nnodes() > 1 ? ", if every node has as many workers as this one" : "");
}

std::string binding_text(const Config& config) {
  if (config.bindings.empty()) return "";
  std::string result = fmt::format("\nBinding:\n  {:<12}{:<28}{}\n", "local rank", "CPUs", "memory nodes");
  int rank = 0;
  for (const Binding& binding : config.bindings) {
    result += fmt::format("  {:<12}{:<28}{}\n", rank++, cpu_ranges(binding.cpus), cpu_ranges(binding.memory_nodes));
  }
  return result;
}

std::string hooks_text(const HookChoice& hooks) {
  std::string result;
  if (!hooks.before.empty()) result += fmt::format("  before the workers  {}\n", for_shell(hook_command(hooks.before)));
  if (!hooks.after.empty()) result += fmt::format("  after the workers   {}\n", for_shell(hook_command(hooks.after)));
  if (result.empty()) return "";
  const std::string limit = hooks.timeout == Duration::zero() ? "no limit" : to_text(hooks.timeout);
  return fmt::format("\nCommands of this node:\n{}  time for each       {}\n", result, limit);
}

std::string worker_text(const WorkerSpec& spec, const Config& config, const Environment& env) {
  std::string result = fmt::format("\nLocal rank {}, rank {}:\n  {}\n", spec.local_rank.value, spec.global_rank.value,
                                   for_shell(spec.argv));
  for (const Variable& variable : changed_variables(spec, config, env))
    result += fmt::format("    {}={}\n", variable.name, for_shell(variable.value));
  return result;
}

OrderedJson settings_json(const Options& options) {
  OrderedJson result = OrderedJson::array();
  for (const ShownSetting& setting : shown_settings(options)) {
    const OrderedJson origin = setting.origin.empty() ? OrderedJson(nullptr) : OrderedJson(setting.origin);
    result.push_back({{"name", setting.name}, {"value", setting.value}, {"origin", origin}});
  }
  return result;
}

OrderedJson hooks_json(const HookChoice& hooks) {
  OrderedJson result = OrderedJson::object();
  if (!hooks.before.empty()) result["before_workers"] = hook_command(hooks.before);
  if (!hooks.after.empty()) result["after_workers"] = hook_command(hooks.after);
  if (hooks.timeout > Duration::zero()) result["timeout_s"] = seconds_of(hooks.timeout);
  return result;
}

OrderedJson worker_json(const WorkerSpec& spec, const Config& config, const Environment& env) {
  OrderedJson environment = OrderedJson::object();
  for (const Variable& variable : changed_variables(spec, config, env))
    environment[variable.name] = variable.value == free_port ? OrderedJson(nullptr) : OrderedJson(variable.value);
  OrderedJson worker = {{"local_rank", spec.local_rank.value},
                        {"rank", spec.global_rank.value},
                        {"executable", spec.executable},
                        {"command", spec.argv},
                        {"environment", environment}};
  if (!spec.binding.cpus.empty()) {
    worker["cpus"] = spec.binding.cpus;
    worker["memory_nodes"] = spec.binding.memory_nodes;
  }
  return worker;
}

}  // namespace

std::string explain_text(const Options& options, const Config& config, const Environment& env) {
  std::string result = fmt::format("launch {} would start {} worker{} here. Nothing has been started.\n\n",
                                   LAUNCH_VERSION, config.nproc_per_node, config.nproc_per_node == 1 ? "" : "s");
  result += settings_text(options) + "\n" + meeting_text(config);
  for (const std::string& line : config.found) result += fmt::format("Found: {}\n", line);
  for (const std::string& notice : config.notices) result += fmt::format("Note: {}\n", notice);
  result += binding_text(config) + hooks_text(config.hooks);
  for (const WorkerSpec& spec : expected_workers(config)) result += worker_text(spec, config, env);
  return result;
}

std::string explain_json(const Options& options, const Config& config, const Environment& env) {
  OrderedJson workers = OrderedJson::array();
  for (const WorkerSpec& spec : expected_workers(config)) workers.push_back(worker_json(spec, config, env));
  const Endpoint& store = config.store();
  const bool known = store.kind == StoreKind::tcp;  // otherwise the round's node 0 hosts the store of the workers
  const OrderedJson host = known ? OrderedJson(store.host) : OrderedJson(nullptr);
  const OrderedJson port = known && store.port != 0 ? OrderedJson(store.port) : OrderedJson(nullptr);
  OrderedJson all = {{"version", LAUNCH_VERSION}, {"settings", settings_json(options)},
                     {"nnodes", config.nnodes()}, {"node_rank", config.node_rank().value},
                     {"run_id", config.run_id},   {"master_addr", host},
                     {"master_port", port},       {"found", config.found},
                     {"notes", config.notices},   {"workers", workers}};
  const HookChoice& hooks = config.hooks;
  if (!hooks.before.empty() || !hooks.after.empty()) all["commands"] = hooks_json(hooks);
  return all.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace launch

#include "launch/core/cluster/slurm_step.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/cluster/host_list.hpp"
#include "launch/core/cluster/slurm_life.hpp"
#include "launch/core/cluster/start_values.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::string_view slurm_step = "a Slurm step";
constexpr int most_id = 2'147'483'646;

// "2,1(x3)": 2, 1, 1, 1. An error unless they are for this number of nodes.
Result<std::vector<int>> tasks_per_node(const Environment& env, int nodes) {
  constexpr std::string_view name = "SLURM_STEP_TASKS_PER_NODE";
  if (!env.get(name)) return StartValues(env, slurm_step).text(name).error();
  const std::string text = *env.get(name);
  std::vector<int> all;
  std::int64_t counted_nodes = 0;
  for (std::string_view part : split(text, ',')) {
    std::optional<int> times = 1;
    if (const auto open = part.find("(x"); open != std::string_view::npos && part.ends_with(')')) {
      times = parse_int(part.substr(open + 2, part.size() - open - 3));
      part = part.substr(0, open);
    }
    const auto tasks = parse_int(part);
    if (!tasks || !times || *tasks < 1 || *times < 1 || std::max(*tasks, *times) > most_cluster_nodes)
      return usage_error(fmt::format("{}: expected counts as in 2,1(x3)", as_typed(name, text)));
    counted_nodes += *times;
    if (counted_nodes <= nodes) all.insert(all.end(), static_cast<std::size_t>(*times), *tasks);
  }
  if (counted_nodes == nodes) return all;
  return usage_error(fmt::format("{} is for {}, but SLURM_STEP_NUM_NODES is {}", as_typed(name, text),
                                 counted(counted_nodes, "node"), nodes));
}

// The last number of "12003-12004" or "a-b,c", which Slurm has reserved on all nodes of the step.
std::optional<int> last_port(std::string_view text) {
  const auto port = parse_int(text.substr(text.find_last_of("-,") + 1));  // npos + 1 is 0
  return port && *port > 0 && *port < 65'536 ? port : std::nullopt;
}

void choose_port(const Environment& env, ClusterStart& start) {
  const std::string cluster = env.get("SLURM_CLUSTER_NAME").value_or("");
  start.row = ports_by("slurm " + cluster + " " + start.id);
  start.port = {start.row.front(), "the number of the Slurm step"};
  const auto reserved = env.get("SLURM_STEP_RESV_PORTS");
  const auto port = reserved ? last_port(*reserved) : std::nullopt;
  if (!port) return;
  start.port = {static_cast<std::uint16_t>(*port), "SLURM_STEP_RESV_PORTS"};
  start.row.insert(start.row.begin(), start.port.value);
}

Status read_names(const Environment& env, ClusterStart& start) {
  constexpr std::string_view name = "SLURM_STEP_NODELIST";
  const auto list = env.get(name);
  if (!list) return StartValues(env, slurm_step).text(name).error();
  auto names = parse_host_list(*list);
  if (!names) return usage_error(fmt::format("{}: {}", as_typed(name, *list), names.error().message));
  start.names = *std::move(names);
  start.host = {start.names.front(), std::string(name)};
  if (static_cast<int>(start.names.size()) == start.nodes.value) return {};
  return usage_error(fmt::format("{} has {}, but SLURM_STEP_NUM_NODES is {}", as_typed(name, *list),
                                 counted(static_cast<std::int64_t>(start.names.size()), "name"), start.nodes.value));
}

// Each task is a launch with one worker, and the tasks are counted node by node: with "-m cyclic" the numbers of Slurm
// are not, and workers of one node must have consecutive ranks.
Status count_tasks(const StartValues& values, const std::vector<int>& tasks, ClusterStart& start) {
  const std::size_t node = start.node_rank.value.index();
  const auto local = values.number("SLURM_LOCALID", 0, tasks[node] - 1);
  if (!local) return local.error();
  const auto before = tasks.begin() + static_cast<std::ptrdiff_t>(node);
  start.place = TaskPlace{local->value, tasks[node], start.node_rank.value, start.nodes.value};
  start.node_rank.value = NodeRank(std::accumulate(tasks.begin(), before, local->value));
  start.node_rank.from += " and SLURM_LOCALID";
  const auto task = values.number("SLURM_PROCID", 0, std::accumulate(tasks.begin(), tasks.end(), -1));
  if (!task) return task.error();
  if (task->value != start.node_rank.value.value)
    start.notice =
        fmt::format("Slurm has dealt the tasks out in another order than node by node, so task {} has rank {}",
                    task->value, start.node_rank.value.value);
  start.nodes = {std::accumulate(tasks.begin(), tasks.end(), 0), "SLURM_STEP_TASKS_PER_NODE"};
  return {};
}

Result<std::string> read_id(const Environment& env, const StartValues& values) {
  const auto job = values.number("SLURM_JOB_ID", 0, most_id);
  if (!job) return job.error();
  const auto step = values.number("SLURM_STEP_ID", 0, most_id);
  if (!step) return step.error();
  std::string id = fmt::format("{}.{}", job->value, step->value);
  const int again = parse_int(env.get("SLURM_RESTART_COUNT").value_or("")).value_or(0);
  if (again > 0) id += fmt::format(".r{}", again);
  return id;
}

Result<ClusterStart> read_step(const Environment& env) {
  const StartValues values(env, slurm_step);
  ClusterStart start;
  start.starter = "Slurm step";
  start.shares_console = true;
  start.knows_places = true;
  start.grace = 25;  // KillWait is 30 s
  auto id = read_id(env, values);
  if (!id) return id.error();
  start.id = *std::move(id);
  start.id_from = "the number of the Slurm step";
  auto nodes = values.nodes("SLURM_STEP_NUM_NODES");
  if (!nodes) return nodes.error();
  start.nodes = *std::move(nodes);
  auto rank = values.rank("SLURM_NODEID", start.nodes.value);
  if (!rank) return rank.error();
  start.node_rank = *std::move(rank);
  const auto tasks = tasks_per_node(env, start.nodes.value);
  if (!tasks) return tasks.error();
  if (Status done = read_names(env, start); !done) return done.error();
  choose_port(env, start);
  if (*std::max_element(tasks->begin(), tasks->end()) == 1) return start;
  if (Status done = count_tasks(values, *tasks, start); !done) return done.error();
  return start;
}

// The nodes of an allocation in which nothing was started on all of them.
void note_allocation(const Environment& env, ClusterView& view) {
  const std::string job = env.get("SLURM_JOB_ID").value_or("");
  const auto nodes = parse_int(env.get("SLURM_JOB_NUM_NODES").value_or(env.get("SLURM_NNODES").value_or("")));
  view.found.push_back(fmt::format("Slurm job {}: launch was not started by srun, so it starts one node", job));
  if (nodes && *nodes > 1)
    view.notice = fmt::format(
        "Slurm job {} has {} nodes, and this launch uses one of them, as torchrun would; \"launch "
        "--hosts=auto ...\" uses all, as does \"srun --ntasks-per-node=1 launch ...\", and --nnodes=1 says that one "
        "is meant",
        job, *nodes);
}

std::string_view why_not(SlurmLife life) {
  switch (life) {
    case SlurmLife::ended:
      return "the variables of a Slurm step are left over: no process above launch belongs to it";
    case SlurmLife::interactive:
      return "this is the interactive shell of a Slurm step: one node";
    default:
      return "";
  }
}

}  // namespace

bool speaks_of_slurm(const Environment& env) { return env.get("SLURM_JOB_ID") || env.get("SLURM_STEP_ID"); }

Said<std::string> slurm_job_end(const Environment& env, const ProcessFacts& process) {
  constexpr std::string_view name = "SLURM_JOB_END_TIME";
  const auto text = env.get(name);
  const bool is_time = text && parse_wall_time(*text).has_value();
  if (!is_time || slurm_life(env, process) == SlurmLife::ended) return {};
  return {*text, std::string(name)};
}

Result<ClusterView> view_slurm(const Environment& env, const ProcessFacts& process) {
  ClusterView view;
  const SlurmLife life = slurm_life(env, process);
  if (life == SlurmLife::doubtful)
    return usage_error(
        "the variables of a Slurm step contradict those of its job (SLURM_STEP_NUM_NODES, SLURM_NNODES), and a "
        "container hides which of them are left over; give --cluster=none and all options of the job");
  if (life == SlurmLife::allocation) {
    note_allocation(env, view);
  } else if (life != SlurmLife::step) {
    view.found.emplace_back(why_not(life));
    const bool several = parse_int(env.get("SLURM_STEP_NUM_NODES").value_or("")).value_or(1) > 1;
    if (life == SlurmLife::interactive && several) view.notice = view.found.back();
  } else {
    auto start = read_step(env);
    if (!start) return start.error();
    view.start = *std::move(start);
    if (process.pmi_socket) view.start->server = RankServer::pmi;  // "srun --mpi=pmi2"
  }
  return view;
}

}  // namespace launch

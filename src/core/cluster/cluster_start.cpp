#include "launch/core/cluster/cluster_start.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/host_list.hpp"
#include "launch/core/cluster/slurm_life.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr int most_step_nodes = 100'000;
constexpr int most_id = 2'147'483'646;

// Above the ports that Linux gives to clients, and below the end.
constexpr std::uint64_t first_port = 61'000;
constexpr std::uint64_t port_count = 4'535;

// FNV-1a: the same on every node, whatever it was built with.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

Error missing(std::string_view name) {
  return usage_error(
      fmt::format("{} is not set, although a Slurm step started launch; set it again, or give "
                  "--cluster=none and all options of the job",
                  name));
}

Result<int> number_of(const Environment& env, std::string_view name, int least, int most) {
  const auto text = env.get(name);
  if (!text) return missing(name);
  const auto number = parse_int(*text);
  if (number && *number >= least && *number <= most) return *number;
  return usage_error(fmt::format("{}: expected a number from {} to {}", as_typed(name, *text), least, most));
}

// "2,1(x3)": 2, 1, 1, 1. Returns the largest; an error unless they are for this number of nodes.
Result<int> most_tasks(const Environment& env, int nodes) {
  constexpr std::string_view name = "SLURM_STEP_TASKS_PER_NODE";
  const auto text = env.get(name);
  if (!text) return missing(name);
  int largest = 0;
  std::int64_t counted_nodes = 0;
  for (std::string_view part : split(*text, ',')) {
    std::optional<int> times = 1;
    if (const auto open = part.find("(x"); open != std::string_view::npos && part.ends_with(')')) {
      times = parse_int(part.substr(open + 2, part.size() - open - 3));
      part = part.substr(0, open);
    }
    const auto tasks = parse_int(part);
    if (!tasks || !times || *tasks < 1 || *times < 1 || std::max(*tasks, *times) > most_step_nodes)
      return usage_error(fmt::format("{}: expected counts as in 2,1(x3)", as_typed(name, *text)));
    largest = std::max(largest, *tasks);
    counted_nodes += *times;
  }
  if (counted_nodes == nodes) return largest;
  return usage_error(fmt::format("{} is for {}, but SLURM_STEP_NUM_NODES is {}", as_typed(name, *text),
                                 counted(counted_nodes, "node"), nodes));
}

// The last number of "12003-12004" or "a-b,c", which Slurm has reserved on all nodes of the step.
std::optional<int> last_port(std::string_view text) {
  const auto port = parse_int(text.substr(text.find_last_of("-,") + 1));  // npos + 1 is 0
  return port && *port > 0 && *port < 65'536 ? port : std::nullopt;
}

void choose_port(const Environment& env, ClusterStart& start) {
  if (const auto reserved = env.get("SLURM_STEP_RESV_PORTS"))
    if (const auto port = last_port(*reserved)) {
      start.port = static_cast<std::uint16_t>(*port);
      start.port_from = "SLURM_STEP_RESV_PORTS";
      return;
    }
  const std::string cluster = env.get("SLURM_CLUSTER_NAME").value_or("");
  start.port = static_cast<std::uint16_t>(first_port + hash_of("slurm " + cluster + " " + start.id) % port_count);
  start.port_from = "the number of the Slurm step";
}

Status read_names(const Environment& env, ClusterStart& start) {
  start.names_from = "SLURM_STEP_NODELIST";
  const auto list = env.get(start.names_from);
  if (!list) return missing(start.names_from);
  auto names = parse_host_list(*list);
  if (!names) return usage_error(fmt::format("{}: {}", as_typed(start.names_from, *list), names.error().message));
  start.names = *std::move(names);
  if (static_cast<int>(start.names.size()) == start.nodes) return {};
  return usage_error(fmt::format("{} has {}, but SLURM_STEP_NUM_NODES is {}", as_typed(start.names_from, *list),
                                 counted(static_cast<std::int64_t>(start.names.size()), "name"), start.nodes));
}

Result<ClusterStart> read_step(const Environment& env) {
  ClusterStart start;
  start.starter = "Slurm step";
  const auto job = number_of(env, "SLURM_JOB_ID", 0, most_id);
  if (!job) return job.error();
  const auto step = number_of(env, "SLURM_STEP_ID", 0, most_id);
  if (!step) return step.error();
  start.id = fmt::format("{}.{}", *job, *step);
  const int again = parse_int(env.get("SLURM_RESTART_COUNT").value_or("")).value_or(0);
  if (again > 0) start.id += fmt::format(".r{}", again);
  start.nodes_from = "SLURM_STEP_NUM_NODES";
  const auto nodes = number_of(env, start.nodes_from, 1, most_step_nodes);
  if (!nodes) return nodes.error();
  start.nodes = *nodes;
  start.node_rank_from = "SLURM_NODEID";
  const auto rank = number_of(env, start.node_rank_from, 0, start.nodes - 1);
  if (!rank) return rank.error();
  start.node_rank = NodeRank(*rank);
  const auto tasks = most_tasks(env, start.nodes);
  if (!tasks) return tasks.error();
  start.most_per_node = *tasks;
  if (Status done = read_names(env, start); !done) return done.error();
  choose_port(env, start);
  return start;
}

// The nodes of an allocation in which nothing was started on all of them.
void note_allocation(const Environment& env, ClusterView& view) {
  const std::string job = env.get("SLURM_JOB_ID").value_or("");
  const auto nodes = parse_int(env.get("SLURM_JOB_NUM_NODES").value_or(env.get("SLURM_NNODES").value_or("")));
  view.found.push_back(fmt::format("Slurm job {}: launch was not started by srun, so it starts one node", job));
  if (nodes && *nodes > 1)
    view.notice = fmt::format(
        "Slurm job {} has {} nodes, and this launch uses one of them, as torchrun would; \"srun "
        "--ntasks-per-node=1 launch ...\" uses all, and --nnodes=1 says that one is meant",
        job, *nodes);
}

// Whoever was started by launch or torchrun, or by MPI, is no task of the step, although it has all of its variables.
std::string_view other_starter(const Environment& env) {
  if (env.get("TORCHELASTIC_RUN_ID") && env.get("LOCAL_RANK"))
    return "a worker of another launch started this one, so what Slurm says is not about it: one node";
  if (env.get("OMPI_COMM_WORLD_RANK") || env.get("PRTE_LAUNCHED") || env.get("MPI_LOCALRANKID"))
    return "MPI started this launch, so what Slurm says is not about it; give the options of the job";
  return "";
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

bool may_be_in_cluster(const Environment& env) { return env.get("SLURM_JOB_ID") || env.get("SLURM_STEP_ID"); }

Result<ClusterView> view_cluster(const Environment& env, const ProcessFacts& process) {
  ClusterView view;
  if (!may_be_in_cluster(env)) return view;
  if (const std::string_view other = other_starter(env); !other.empty()) {
    view.found.emplace_back(other);
    return view;
  }
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
    view.found.push_back(fmt::format("{} {}: {}, this is node {}", start->starter, start->id,
                                     counted(start->nodes, "node"), start->node_rank.value));
    view.start = *std::move(start);
  }
  return view;
}

}  // namespace launch

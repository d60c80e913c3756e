#include "launch/core/cluster/mpi_start.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/allocation.hpp"
#include "launch/core/cluster/apinfo.hpp"
#include "launch/core/cluster/host_list.hpp"
#include "launch/core/cluster/pmi_talk.hpp"
#include "launch/core/cluster/start_values.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

// What shows that the starter is still there. Its variables are inherited by all that is started below.
enum class Proof {
  none,
  pmi_socket,
  pmix_folder
};

struct MpiRow {
  std::string_view word;
  std::string_view starter;
  std::string_view task;  // the variables that tell
  std::string_view tasks;
  std::string_view local_task;
  std::string_view local_tasks{};  // empty: as many on each node
  std::string_view mark{};         // it is there if this and `task` are set
  std::string_view node{};         // may be empty: not said
  std::string_view nodes{};
  std::string_view id{};
  Proof proof = Proof::none;
  int grace = 0;         // 0: launch's own
  std::string_view how;  // to tell all of them where rank 0 is
};

constexpr std::array mpi_rows{MpiRow{.word = "openmpi",
                                     .starter = "Open MPI",
                                     .task = "OMPI_COMM_WORLD_RANK",
                                     .tasks = "OMPI_COMM_WORLD_SIZE",
                                     .local_task = "OMPI_COMM_WORLD_LOCAL_RANK",
                                     .local_tasks = "OMPI_COMM_WORLD_LOCAL_SIZE",
                                     .mark = "OMPI_COMM_WORLD_SIZE",
                                     .id = "PMIX_NAMESPACE",
                                     .proof = Proof::pmix_folder,
                                     .how = "mpirun -x PET_MASTER_ADDR=HOST"},
                              MpiRow{.word = "hydra",
                                     .starter = "Hydra",
                                     .task = "PMI_RANK",
                                     .tasks = "PMI_SIZE",
                                     .local_task = "MPI_LOCALRANKID",
                                     .local_tasks = "MPI_LOCALNRANKS",
                                     .mark = "MPI_LOCALRANKID",
                                     .proof = Proof::pmi_socket,
                                     .how = "mpiexec -genv PET_MASTER_ADDR HOST"},
                              MpiRow{.word = "mvapich2",
                                     .starter = "MVAPICH2",
                                     .task = "MV2_COMM_WORLD_RANK",
                                     .tasks = "MV2_COMM_WORLD_SIZE",
                                     .local_task = "MV2_COMM_WORLD_LOCAL_RANK",
                                     .local_tasks = "MV2_COMM_WORLD_LOCAL_SIZE",
                                     .mark = "MV2_COMM_WORLD_SIZE",
                                     .how = "mpirun_rsh ... PET_MASTER_ADDR=HOST"},
                              MpiRow{.word = "flux",
                                     .starter = "Flux",
                                     .task = "FLUX_TASK_RANK",
                                     .tasks = "FLUX_JOB_SIZE",
                                     .local_task = "FLUX_TASK_LOCAL_ID",
                                     .mark = "FLUX_JOB_SIZE",
                                     .nodes = "FLUX_JOB_NNODES",
                                     .id = "FLUX_JOB_ID",
                                     .proof = Proof::pmi_socket,
                                     .grace = 4,
                                     .how = "flux run --env=PET_MASTER_ADDR=HOST"},
                              MpiRow{.word = "pals",
                                     .starter = "PALS",
                                     .task = "PALS_RANKID",
                                     .tasks = "PMI_SIZE",
                                     .local_task = "PALS_LOCAL_RANKID",
                                     .local_tasks = "PMI_LOCAL_SIZE",
                                     .mark = "PALS_NODEID",
                                     .node = "PALS_NODEID",
                                     .id = "PALS_APID",
                                     .grace = 8,
                                     .how = "mpiexec --env PET_MASTER_ADDR=HOST"},
                              MpiRow{.word = "jsrun",
                                     .starter = "jsrun",
                                     .task = "JSM_NAMESPACE_RANK",
                                     .tasks = "JSM_NAMESPACE_SIZE",
                                     .local_task = "JSM_NAMESPACE_LOCAL_RANK",
                                     .local_tasks = "JSM_NAMESPACE_LOCAL_SIZE",
                                     .mark = "JSM_NAMESPACE_SIZE",
                                     .id = "LSB_JOBID",
                                     .grace = 8,
                                     .how = "jsrun -E PET_MASTER_ADDR=HOST"}};

// Slurm plays PALS with "--mpi=cray_shasta", and says more itself.
bool is_slurm(const Environment& env, const MpiRow& row) {
  const auto id = env.get("PALS_APID");
  return row.word == "pals" && id &&
         *id == env.get("SLURM_JOB_ID").value_or("") + "." + env.get("SLURM_STEP_ID").value_or("");
}

// REQUIRES: `word` is one of mpi_words().
const MpiRow& mpi_row_of(std::string_view word) {
  return *std::find_if(mpi_rows.begin(), mpi_rows.end(), [&](const MpiRow& one) { return one.word == word; });
}

bool is_alive(const MpiRow& row, const Environment& env, const ProcessFacts& process) {
  switch (row.proof) {
    case Proof::pmi_socket:
      return !env.get("PMI_FD") || process.pmi_socket;
    case Proof::pmix_folder:
      return !env.get("PMIX_SERVER_TMPDIR") || process.pmix_folder;
    case Proof::none:
      break;
  }
  return true;
}

// The names of the machines in the order of the ranks, as far as the scheduler around the starter tells them.
std::vector<std::string> names_around(const Environment& env, const MpiRow& row, std::string& from) {
  if (row.word == "jsrun") {
    from = "LSB_MCPU_HOSTS";
    std::vector<std::string> hosts = hosts_of_lsf(env);
    if (!hosts.empty()) hosts.erase(hosts.begin());  // which only starts the ranks
    return hosts;
  }
  from = "SLURM_JOB_NODELIST";
  const auto list = env.get(from);
  auto names = parse_host_list(list.value_or(""));
  return names ? *std::move(names) : std::vector<std::string>();
}

// Only if each rank finds itself where the list has it: the starter may have been given hosts of its own.
void fill_host(const Environment& env, const ProcessFacts& process, const MpiRow& row, ClusterStart& start) {
  if (start.place && start.place->nodes == 1) {
    start.host = {"127.0.0.1", "this machine, which has all ranks"};
    return;
  }
  std::string from;
  std::vector<std::string> names = names_around(env, row, from);
  const std::size_t place = start.node_rank.value.index();
  if (start.place || static_cast<int>(names.size()) != start.nodes.value) return;
  if (first_label(names[place]) != first_label(process.hostname)) return;
  start.host = {names.front(), from};
  start.names = std::move(names);
}

// How many ranks this node has at most, for a starter that says how many nodes there are, and not how many are here.
Result<int> ranks_here(const StartValues& values, const MpiRow& row, int tasks, int& nodes) {
  if (!row.local_tasks.empty()) {
    const auto number = values.number(row.local_tasks, 1, tasks);
    return number ? Result<int>(number->value) : number.error();
  }
  const auto number = values.number(row.nodes, 1, tasks);
  if (!number) return number.error();
  nodes = number->value;
  return tasks - nodes + 1;
}

Result<std::optional<TaskPlace>> read_place(const StartValues& values, const MpiRow& row, int tasks) {
  TaskPlace place{0, 1, NodeRank::none(), 0};
  const auto here = ranks_here(values, row, tasks, place.nodes);
  if (!here) return here.error();
  const auto local = values.number(row.local_task, 0, *here - 1);
  if (!local) return local.error();
  place.local_task = local->value;
  place.local_tasks = *here;
  if (row.local_tasks.empty()) place.local_tasks = std::max(local->value + 1, (tasks + place.nodes - 1) / place.nodes);
  if (place.local_tasks == 1) return std::optional<TaskPlace>();
  if (place.local_tasks == tasks) {
    place.node = NodeRank(0);
    place.nodes = 1;
  }
  if (row.node.empty()) return std::optional<TaskPlace>(place);
  const auto node = values.rank(row.node, tasks);
  if (!node) return node.error();
  place.node = node->value;
  return std::optional<TaskPlace>(place);
}

// Of a start whose own name differs from that of any other in this job; empty: it has none.
std::string id_of(const Environment& env, const MpiRow& row, std::string& from) {
  from = row.id;
  std::string id = env.get(row.id).value_or("");
  if (row.word != "jsrun") return id;
  const std::string space = env.get("PMIX_NAMESPACE").value_or("");  // several jsruns may run in one job
  return space.empty() ? "" : id + "." + space;
}

RankServer server_of(const MpiRow& row, const ProcessFacts& process) {
  if (row.proof == Proof::pmix_folder) return process.pmix_folder ? RankServer::pmix : RankServer::none;
  return process.pmi_socket ? RankServer::pmi : RankServer::none;
}

// What PALS has put into its file, as if it were in variables, for the others are not always there. REQUIRES: it fits.
Environment with_apinfo(Environment env, const ApInfo& info) {
  const auto at = static_cast<std::size_t>(*parse_int(env.get("PALS_RANKID").value_or("")));
  const auto here = std::count(info.hosts.begin(), info.hosts.end(), info.hosts[at]);
  env.set("PMI_SIZE", std::to_string(info.hosts.size()));
  env.set("PMI_LOCAL_SIZE", std::to_string(here));
  env.set("PALS_LOCAL_RANKID", std::to_string(info.local_ranks[at]));
  return env;
}

// It may be left over from another start.
Status check_apinfo(const Environment& env, const Result<ApInfo>& info) {
  const auto refused = [&env](std::string_view what) {
    return usage_error(fmt::format("{}: {}; give --cluster=none and all options of the job",
                                   as_typed("PALS_APINFO", env.get("PALS_APINFO").value_or("")), what));
  };
  if (!info) return refused(info.error().message);
  const auto ranks = static_cast<int>(info->hosts.size());
  const auto differs = [&](std::string_view name) {
    return refused(
        fmt::format("the file has {}, but {} is {}", counted(ranks, "rank"), name, shown(env.get(name).value_or(""))));
  };
  const auto rank = parse_int(env.get("PALS_RANKID").value_or(""));
  if (!rank || *rank < 0 || *rank >= ranks) return differs("PALS_RANKID");
  if (const auto size = env.get("PMI_SIZE"); size && parse_int(*size) != ranks) return differs("PMI_SIZE");
  return {};
}

Result<ClusterStart> read_ranks(const Environment& env, const ProcessFacts& process, const MpiRow& row) {
  const StartValues values(env, row.starter);
  ClusterStart start;
  start.starter = row.starter;
  start.shares_console = true;
  start.of_ranks = true;
  start.grace = row.grace;
  auto tasks = values.nodes(row.tasks);
  if (!tasks) return tasks.error();
  start.nodes = *std::move(tasks);
  auto task = values.rank(row.task, start.nodes.value);
  if (!task) return task.error();
  start.node_rank = *std::move(task);
  auto place = read_place(values, row, start.nodes.value);
  if (!place) return place.error();
  start.place = *place;
  start.server = server_of(row, process);
  start.id = id_of(env, row, start.id_from);
  start.host_hint = fmt::format("give --master-addr with the host of rank 0, or \"{} ...\"", row.how);
  fill_host(env, process, row, start);
  start.port = {29'500, "the usual one"};
  if (start.id.empty()) return start;
  start.row = ports_by(fmt::format("{} {}", row.word, start.id));
  start.port = {start.row.front(), fmt::format("the id of {}", row.starter)};
  return start;
}

Result<ClusterStart> read_mpi(const Environment& env, const ProcessFacts& process, const MpiRow& row) {
  if (row.word != "pals" || process.apinfo.empty()) return read_ranks(env, process, row);
  const auto info = parse_apinfo(process.apinfo);
  if (Status fits = check_apinfo(env, info); !fits) return fits.error();
  auto start = read_ranks(with_apinfo(env, *info), process, row);
  if (!start) return start;
  start->host = {info->hosts.front(), "PALS_APINFO"};
  if (Status added = add_map(map_of_hosts(info->hosts), *start); !added) return added.error();
  if (!start->place) start->names = info->hosts;
  return start;
}

}  // namespace

const std::vector<std::string_view>& mpi_words() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> all(mpi_rows.size());
    std::transform(mpi_rows.begin(), mpi_rows.end(), all.begin(), [](const MpiRow& row) { return row.word; });
    return all;
  }();
  return words;
}

bool speaks_of_mpi(std::string_view word, const Environment& env) {
  const MpiRow& row = mpi_row_of(word);
  return env.get(row.task) && env.get(row.mark) && !is_slurm(env, row);
}

Result<ClusterView> view_mpi(std::string_view word, const Environment& env, const ProcessFacts& process) {
  ClusterView view;
  const MpiRow& row = mpi_row_of(word);
  if (!speaks_of_mpi(word, env)) return view;
  if (!is_alive(row, env, process)) {
    view.found.push_back(fmt::format("the variables of {} are left over: what started them is gone", row.starter));
    return view;
  }
  auto start = read_mpi(env, process, row);
  if (!start) return start.error();
  view.start = *std::move(start);
  return view;
}

}  // namespace launch

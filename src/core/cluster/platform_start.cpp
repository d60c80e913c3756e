#include "launch/core/cluster/platform_start.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/cluster/start_values.hpp"
#include "launch/core/job/endpoint.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace launch {
namespace {

using HostNames = std::vector<std::string>;

struct PlatformRow {
  std::string_view word;
  std::string_view starter;
  std::array<std::string_view, 4> marks{};    // it is there if all are set
  std::array<std::string_view, 2> foreign{};  // it is another one if any is set
  std::string_view nodes{};                   // the variables that tell; empty: read by `complete`
  std::string_view rank{};
  std::string_view host{};  // of node 0: the first of a list
  std::string_view port{};  // empty: `usual_port`
  std::string_view id{};
  std::uint16_t usual_port = 29500;
  int grace = 0;  // 0: launch's own
  // Why it may be something else, whose variables have the same names; empty: it is this. Null: there is no doubt.
  std::string (*doubt)(const Environment& env, const ProcessFacts& process) = nullptr;
  // Reads what does not stand in a variable of its own; null: nothing.
  Status (*complete)(const Environment& env, const ProcessFacts& process, ClusterStart& start) = nullptr;
};

// The numbers of all nodes are turned until the main node is 0. It alone does not have its own address.
Status complete_aws_batch(const Environment& env, const ProcessFacts& process, ClusterStart& start) {
  constexpr const char* address = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS";
  const int nodes = start.nodes.value;
  const StartValues values(env, start.starter);
  const auto main = values.rank("AWS_BATCH_JOB_MAIN_NODE_INDEX", nodes);
  if (!main) return main.error();
  start.node_rank.value = NodeRank((start.node_rank.value.value - main->value.value + nodes) % nodes);
  if (start.node_rank.value == NodeRank(0)) {
    start.host = {process.hostname, "the main node"};
    return {};
  }
  auto host = values.text(address);
  if (!host) return host.error();
  start.host = {*std::move(host), address};
  return {};
}

// Set in what is looked at alone, if the two others come from the file.
constexpr const char* from_sagemaker_file = "resourceconfig.json";

// SM_HOSTS is a JSON list, in the same order everywhere.
Status complete_sagemaker(const Environment& env, const ProcessFacts&, ClusterStart& start) {
  const std::string text = env.get("SM_HOSTS").value_or("");
  HostNames names = read_json(text).texts().value_or(HostNames());
  if (names.empty())
    return usage_error(
        fmt::format(R"({}: expected a list of hosts, as in ["algo-1","algo-2"])", as_typed("SM_HOSTS", text)));
  const std::string own = env.get("SM_CURRENT_HOST").value_or("");
  const auto place = std::find(names.begin(), names.end(), own);
  if (place == names.end())
    return usage_error(fmt::format("{} is not in {}", as_typed("SM_CURRENT_HOST", own), as_typed("SM_HOSTS", text)));
  const bool by_file = env.get(from_sagemaker_file).has_value();
  const std::string list = by_file ? from_sagemaker_file : "SM_HOSTS";
  start.nodes = {static_cast<int>(names.size()), list};
  start.node_rank = {NodeRank(static_cast<int>(place - names.begin())), by_file ? list : "SM_CURRENT_HOST"};
  start.host = {names.front(), list};
  start.names = std::move(names);
  return {};
}

// VC_TASK_INDEX counts the pods of one kind; VC_<KIND>_HOSTS has the hosts of that kind, and each kind has a list.
// Without such a list, or if it cannot be seen which of several is that of the job, it is a pod by itself.
Status complete_volcano(const Environment& env, const ProcessFacts& process, ClusterStart& start) {
  struct List {
    std::string name, hosts;
  };
  std::vector<List> lists;
  for (const std::string& line : env.lines()) {
    const std::string_view name = std::string_view(line).substr(0, line.find('='));
    if (name.starts_with("VC_") && name.ends_with("_HOSTS"))
      lists.push_back({std::string(name), line.substr(name.size() + 1)});
  }
  const auto index = StartValues(env, start.starter).number("VC_TASK_INDEX", 0, most_cluster_nodes);
  if (!index) return index.error();
  const auto place = static_cast<std::size_t>(index->value);
  std::erase_if(lists, [&, several = lists.size() > 1](const List& list) {
    const auto words = split(list.hosts, ',');
    if (place >= words.size()) return true;
    const bool has_own = first_label(trim(words[place])) == first_label(process.hostname);
    return several && (!has_own || list.name != "VC_WORKER_HOSTS");
  });
  if (lists.empty()) {
    start.doubt = "Volcano does not say which pods this one belongs to (VC_WORKER_HOSTS)";
    return {};
  }
  for (const std::string_view word : split(lists.front().hosts, ',')) start.names.emplace_back(trim(word));
  start.nodes = {static_cast<int>(start.names.size()), lists.front().name};
  start.node_rank = {NodeRank(index->value), index->from};
  start.host = {start.names.front(), lists.front().name};
  return {};
}

// The pods of an Indexed Job are JOB-0, JOB-1, ... below one domain, if the job has a headless service.
Status complete_indexed_job(const Environment& env, const ProcessFacts& process, ClusterStart& start) {
  auto index = StartValues(env, start.starter).rank("JOB_COMPLETION_INDEX", most_cluster_nodes);
  if (!index) return index.error();
  const std::string ending = fmt::format("-{}", index->value.value);
  start.node_rank = *std::move(index);
  start.notice = fmt::format(
      "JOB_COMPLETION_INDEX={}, but nothing tells how many pods there are, so this one runs a job of its own, as with "
      "torchrun; PET_NNODES in the environment of the pods (the value of spec.completions) makes one job of all",
      start.node_rank.value.value);
  start.host_hint =
      "the pods need a headless service, whose name is spec.template.spec.subdomain of the job; or give --master-addr";
  const std::string& own = process.full_hostname;
  const auto label = first_label(own);
  if (!label.ends_with(ending) || label.size() == own.size()) return {};
  start.host.value = fmt::format("{}-0{}", label.substr(0, label.size() - ending.size()), own.substr(label.size()));
  start.host.from = "the name of this pod";
  start.id = first_label(start.host.value);
  start.id_from = start.host.from;
  return {};
}

// Plain RANK and WORLD_SIZE may be anybody's, but the pods of such a job are JOB-master-0, JOB-worker-0, ..., or have
// the index that Volcano gives.
std::string doubt_pytorchjob(const Environment& env, const ProcessFacts& process) {
  const std::string& own = process.hostname;
  const auto rank = parse_int(env.get("RANK").value_or(""));
  const bool is_master = rank == 0 && own.ends_with("-master-0");
  const bool is_worker =
      rank && (own.ends_with(fmt::format("-worker-{}", *rank)) || own.ends_with(fmt::format("-worker-{}", *rank - 1)));
  if (is_master || is_worker || env.get("VC_TASK_INDEX")) return "";
  return "RANK, WORLD_SIZE and MASTER_ADDR are set, but this host has not the name of a pod of a PyTorchJob";
}

// An old one tells its master that it is "localhost".
Status complete_pytorchjob(const Environment&, const ProcessFacts& process, ClusterStart& start) {
  if (start.node_rank.value == NodeRank(0) && is_loopback(start.host.value)) start.host.value = process.hostname;
  return {};
}

constexpr std::array platform_rows{
    PlatformRow{.word = "sagemaker",
                .starter = "SageMaker",
                .marks = {"SM_HOSTS", "SM_CURRENT_HOST"},
                .id = "TRAINING_JOB_NAME",
                .usual_port = 7777,
                .complete = complete_sagemaker},
    PlatformRow{.word = "azureml",
                .starter = "AzureML",
                .marks = {"AZUREML_RUN_ID", "AZUREML_NODE_COUNT", "NODE_RANK", "MASTER_ADDR"},
                .foreign = {"LOCAL_RANK"},
                .nodes = "AZUREML_NODE_COUNT",
                .rank = "NODE_RANK",
                .host = "MASTER_ADDR",
                .port = "MASTER_PORT",
                .id = "AZUREML_RUN_ID"},
    PlatformRow{.word = "awsbatch",
                .starter = "AWS Batch",
                .marks = {"AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_NODE_INDEX"},
                .nodes = "AWS_BATCH_JOB_NUM_NODES",
                .rank = "AWS_BATCH_JOB_NODE_INDEX",
                .id = "AWS_BATCH_JOB_ID",
                .complete = complete_aws_batch},
    PlatformRow{.word = "skypilot",
                .starter = "SkyPilot",
                .marks = {"SKYPILOT_NUM_NODES", "SKYPILOT_NODE_RANK"},
                .nodes = "SKYPILOT_NUM_NODES",
                .rank = "SKYPILOT_NODE_RANK",
                .host = "SKYPILOT_NODE_IPS",
                .id = "SKYPILOT_TASK_ID"},
    PlatformRow{.word = "dstack",
                .starter = "dstack",
                .marks = {"DSTACK_NODES_NUM", "DSTACK_NODE_RANK"},
                .nodes = "DSTACK_NODES_NUM",
                .rank = "DSTACK_NODE_RANK",
                .host = "DSTACK_MASTER_NODE_IP",
                .id = "DSTACK_RUN_ID"},
    PlatformRow{.word = "ngc",
                .starter = "NGC",
                .marks = {"NGC_ARRAY_SIZE", "NGC_ARRAY_INDEX"},
                .nodes = "NGC_ARRAY_SIZE",
                .rank = "NGC_ARRAY_INDEX",
                .host = "NGC_MASTER_ADDR",
                .id = "NGC_JOB_ID"},
    PlatformRow{.word = "lws",
                .starter = "LeaderWorkerSet",
                .marks = {"LWS_GROUP_SIZE", "LWS_WORKER_INDEX"},
                .nodes = "LWS_GROUP_SIZE",
                .rank = "LWS_WORKER_INDEX",
                .host = "LWS_LEADER_ADDRESS",
                .id = "LWS_LEADER_ADDRESS",
                .grace = grace_of_pods},
    PlatformRow{.word = "pytorchjob",
                .starter = "PyTorchJob",
                .marks = {"KUBERNETES_SERVICE_HOST", "RANK", "WORLD_SIZE", "MASTER_ADDR"},
                .foreign = {"LOCAL_RANK", "PET_NNODES"},
                .nodes = "WORLD_SIZE",
                .rank = "RANK",
                .host = "MASTER_ADDR",
                .port = "MASTER_PORT",
                .usual_port = 23456,
                .grace = grace_of_pods,
                .doubt = doubt_pytorchjob,
                .complete = complete_pytorchjob},
    PlatformRow{.word = "volcano",
                .starter = "Volcano",
                .marks = {"VC_TASK_INDEX"},
                .usual_port = 23456,
                .grace = grace_of_pods,
                .complete = complete_volcano},
    PlatformRow{.word = "kubernetes",
                .starter = "Indexed Job",
                .marks = {"KUBERNETES_SERVICE_HOST", "JOB_COMPLETION_INDEX"},
                .foreign = {"PET_NODE_RANK", "PET_RDZV_ENDPOINT"},
                .grace = grace_of_pods,
                .complete = complete_indexed_job}};

template <class Lists>
bool is_set(const Environment& env, const Lists& names, bool all) {
  const auto has = [&](std::string_view name) { return name.empty() ? all : env.get(name).has_value(); };
  return all ? std::all_of(names.begin(), names.end(), has) : std::any_of(names.begin(), names.end(), has);
}

// REQUIRES: `word` is one of platform_words().
const PlatformRow& platform_row_of(std::string_view word) {
  return *std::find_if(platform_rows.begin(), platform_rows.end(),
                       [&](const PlatformRow& one) { return one.word == word; });
}

// "kubectl exec" starts a process beside the container's own: nothing of the pod is above it, and it is for a person.
bool is_visitor(const ProcessFacts& process) {
  const bool below_first = process.pid == 1 || std::any_of(process.ancestors.begin(), process.ancestors.end(),
                                                           [](const Ancestor& one) { return one.pid == 1; });
  const bool shared = process.first_command.starts_with("/pause");  // the pods' containers share their process numbers
  return !below_first && (!shared || process.terminal);
}

std::string first_host(std::string_view list) {
  const std::string_view text = trim(list);
  return std::string(trim(text.substr(0, text.find_first_of(",\n "))));
}

Status read_variables(const Environment& env, const PlatformRow& row, ClusterStart& start) {
  const StartValues values(env, start.starter);
  auto nodes = values.nodes(row.nodes);
  if (!nodes) return nodes.error();
  start.nodes = *std::move(nodes);
  auto rank = values.rank(row.rank, start.nodes.value);
  if (!rank) return rank.error();
  start.node_rank = *std::move(rank);
  if (row.host.empty()) return {};
  const auto host = values.text(row.host);
  if (!host) return host.error();
  start.host = {first_host(*host), std::string(row.host)};
  return {};
}

Status read_port(const Environment& env, const PlatformRow& row, ClusterStart& start) {
  start.port = {row.usual_port, fmt::format("the usual one of {}", row.starter)};
  if (row.port.empty() || !env.get(row.port)) return {};
  const auto port = StartValues(env, start.starter).number(row.port, 1, 65'535);
  if (!port) return port.error();
  start.port = {static_cast<std::uint16_t>(port->value), port->from};
  return {};
}

Result<ClusterStart> read_platform(const Environment& env, const ProcessFacts& process, const PlatformRow& row) {
  ClusterStart start;
  start.starter = row.starter;
  start.grace = row.grace;
  start.id = env.get(row.id).value_or("");
  start.id_from = row.id;
  if (!row.nodes.empty())
    if (Status done = read_variables(env, row, start); !done) return done.error();
  if (Status done = read_port(env, row, start); !done) return done.error();
  if (row.complete != nullptr)
    if (Status done = row.complete(env, process, start); !done) return done.error();
  return start;
}

}  // namespace

const std::vector<std::string_view>& platform_words() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> all(platform_rows.size());
    std::transform(platform_rows.begin(), platform_rows.end(), all.begin(),
                   [](const PlatformRow& row) { return row.word; });
    return all;
  }();
  return words;
}

Environment with_sagemaker_file(Environment env, std::string_view text) {
  const JsonValue file = read_json(text);
  const auto hosts = file["hosts"].texts();
  const auto own = file["current_host"].text();
  if (!hosts || !own || env.get("SM_HOSTS")) return env;
  nlohmann::json list = *hosts;
  std::sort(list.begin(), list.end());  // it may stand in another order on each host
  env.set("SM_HOSTS", list.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  env.set("SM_CURRENT_HOST", *own);
  env.set(from_sagemaker_file, "");
  return env;
}

bool speaks_of_platform(std::string_view word, const Environment& env) {
  const PlatformRow& row = platform_row_of(word);
  return is_set(env, row.marks, true) && !is_set(env, row.foreign, false);
}

Result<ClusterView> view_platform(std::string_view word, const Environment& env, const ProcessFacts& process,
                                  bool insists) {
  ClusterView view;
  const PlatformRow& row = platform_row_of(word);
  if (!speaks_of_platform(word, env)) return view;
  if (is_visitor(process)) {
    view.found.push_back(fmt::format("this process was started beside the one that {} started: one node", row.starter));
    return view;
  }
  std::string doubt = row.doubt == nullptr || insists ? "" : row.doubt(env, process);
  if (doubt.empty()) {
    auto start = read_platform(env, process, row);
    if (!start) return start.error();
    doubt = start->doubt;
    if (doubt.empty()) view.start = *std::move(start);
  }
  if (doubt.empty()) return view;
  view.found.push_back(doubt + ": one node");
  view.notice = fmt::format(
      "{}; this launch is a job of one node, as with torchrun, unless --cluster={} says that it is "
      "one of several, or the options of the job are given",
      doubt, word);
  return view;
}

}  // namespace launch

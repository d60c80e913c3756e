// All nodes of one start decide in the same way, whatever happens to a variable on its way to all of them.
#include "../../support/slurm.hpp"
#include "../../support/starts.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include <fmt/format.h>

namespace launch::starts_property_test {

struct Node {
  Environment env;
  ProcessFacts facts;
};

// The nodes of a start of this size. What differs between them is set by number.
struct Kind {
  std::string name;
  Environment env;
  std::string size;  // the variable that has the number of nodes; empty: `tell` sets it
  std::string rank;
  std::function<void(int number, int size, Node& node)> tell;
};

std::string hosts(int size, const std::string& quote, const std::string& separator) {
  std::string list;
  for (int i = 0; i < size; ++i) list += fmt::format("{}{}n{}{}", i == 0 ? "" : separator, quote, i, quote);
  return list;
}

std::vector<Kind> kinds() {
  return {
      {"slurm", slurm::step(), "SLURM_STEP_NUM_NODES", "SLURM_NODEID",
       [](int number, int size, Node& node) {
         node.facts = slurm::task();
         node.env.set("SLURM_STEP_NODELIST", hosts(size, "", ","));
         node.env.set("SLURM_PROCID", std::to_string(number));
         for (const char* name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"})
           node.env.set(name, fmt::format("1(x{})", size));
         for (const char* name : {"SLURM_NNODES", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"})
           node.env.set(name, std::to_string(size));
       }},
      {"openmpi", starts::open_mpi(), "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
       [](int, int size, Node& node) {
         node.facts.pmix_folder = true;
         node.env.set("SLURM_JOB_NODELIST", hosts(size, "", ","));
       }},
      {"hydra", starts::intel_mpi(), "PMI_SIZE", "PMI_RANK",
       [](int, int, Node& node) { node.facts.pmi_socket = true; }},
      {"flux", starts::flux(), "FLUX_JOB_SIZE", "FLUX_TASK_RANK",
       [](int, int size, Node& node) { node.env.set("FLUX_JOB_NNODES", std::to_string(size)); }},
      {"jsrun", starts::jsrun(), "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK",
       [](int, int size, Node& node) { node.env.set("LSB_MCPU_HOSTS", "batch 1 " + hosts(size, "", " 42 ") + " 42"); }},
      {"lws", starts::leader_worker_set(), "LWS_GROUP_SIZE", "LWS_WORKER_INDEX", nullptr},
      {"pytorchjob", starts::pytorch_job(), "WORLD_SIZE", "RANK", nullptr},
      {"volcano", starts::volcano(), "VC_WORKER_NUM", "VC_TASK_INDEX",
       [](int, int size, Node& node) { node.env.set("VC_WORKER_HOSTS", hosts(size, "", ",")); }},
      {"sagemaker", starts::sagemaker(), "", "",
       [](int number, int size, Node& node) {
         node.env.set("SM_HOSTS", "[" + hosts(size, "\"", ",") + "]");
         node.env.set("SM_CURRENT_HOST", fmt::format("n{}", number));
       }},
      {"azureml", starts::azure_ml(), "AZUREML_NODE_COUNT", "NODE_RANK", nullptr},
      {"skypilot", starts::skypilot(), "SKYPILOT_NUM_NODES", "SKYPILOT_NODE_RANK", nullptr},
      {"dstack", starts::dstack(), "DSTACK_NODES_NUM", "DSTACK_NODE_RANK", nullptr},
      {"ngc", starts::ngc(), "NGC_ARRAY_SIZE", "NGC_ARRAY_INDEX", nullptr},
      {"kubernetes", starts::indexed_job(), "PET_NNODES", "JOB_COMPLETION_INDEX",
       [](int number, int, Node& node) { node.facts.full_hostname = fmt::format("job-{}.service", number); }}};
}

std::vector<Node> nodes_of(const Kind& kind, int size) {
  std::vector<Node> nodes;
  for (int number = 0; number < size; ++number) {
    Node node{kind.env, starts::pod(fmt::format("n{}", number))};
    if (!kind.size.empty()) node.env.set(kind.size, std::to_string(size));
    if (!kind.rank.empty()) node.env.set(kind.rank, std::to_string(number));
    if (kind.tell) kind.tell(number, size, node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// What a node would do: whom it believes, and with whom it would meet where. An error is the same as any other.
struct Decision {
  std::string starter;
  int nodes = 0;
  std::string host;
  std::uint16_t port = 0;
  std::string id;
  bool tasks = false;  // each of several launches on a node is a worker
  bool asks = false;   // where the others are
  bool operator==(const Decision&) const = default;
};

Decision decision_of(const Result<ClusterView>& view) {
  if (!view) return {"refused", 0, "", 0, "", false, false};
  if (!view->start || view->start->nodes.value == 1) return {};  // it waits for nobody
  const ClusterStart& start = *view->start;
  return {start.starter,
          start.nodes.value,
          start.host.value,
          start.port.value,
          start.id,
          start.place.has_value(),
          start.server == RankServer::pmi && !start.knows_places};
}

// The same happens to one variable on all nodes, as in the script that starts them.
std::string mutate(std::vector<Node>& nodes, std::mt19937& random) {
  const std::vector<std::string> lines = nodes.front().env.lines();
  const std::string& line = lines[random() % lines.size()];
  const std::string name = line.substr(0, line.find('='));
  const std::vector<std::string> values{"", "x", "-1", "99999999999999999999", "0x2", "n[1-", "\x01\x02", " "};
  const std::size_t which = random() % (values.size() + 1);
  for (Node& node : nodes) which == values.size() ? node.env.remove(name) : node.env.set(name, values[which]);
  return which == values.size() ? name + " removed" : fmt::format("{}={}", name, values[which]);
}

TEST(Starts, AllNodesDecideAlike) {
  std::mt19937 random(1);
  const std::vector<Kind> all = kinds();
  int believed = 0;
  for (int seed = 0; seed < 10'000; ++seed) {
    const Kind& kind = all[static_cast<std::size_t>(seed) % all.size()];
    std::vector<Node> nodes = nodes_of(kind, 2 + static_cast<int>(random() % 4));
    std::string done;
    for (std::size_t times = random() % 3; times > 0; --times) done += mutate(nodes, random) + "; ";
    const Decision first = decision_of(view_cluster(nodes.front().env, nodes.front().facts));
    std::set<NodeRank> ranks;
    for (const Node& node : nodes) {
      const auto view = view_cluster(node.env, node.facts);
      ASSERT_EQ(decision_of(view), first) << kind.name << ": " << done;
      if (view && view->start && first.nodes != 1) ranks.insert(view->start->node_rank.value);
    }
    if (!first.starter.empty() && first.starter != "refused") {
      ASSERT_EQ(ranks.size(), nodes.size()) << kind.name << ": " << done;
      ++believed;
    }
  }
  EXPECT_GT(believed, 5'000) << "most of them should be starts";
}

}  // namespace launch::starts_property_test

#include "launch/core/control/startup_report.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/startup/startup_text.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t longest_answer = 60'000;
constexpr std::size_t bytes_of_client = 17, bytes_of_address = 40;  // in JSON

// One node serves the store that the workers use. Others may have one that no worker uses.
StartupFacts facts_of(const std::vector<NodeReport>& nodes) {
  StartupFacts facts;
  for (const NodeReport& node : nodes) {
    facts.world_size = std::max(facts.world_size, node.world_size);
    if (!node.fault.empty() || node.node_rank < 0) continue;
    StartupNode& one = facts.nodes.emplace_back();
    one.rank = node.node_rank;
    one.host = node.host;
    one.addresses = node.startup.addresses;
    for (const WorkerReport& worker : node.workers)
      one.workers.push_back({worker.rank, worker.startup.pids, worker.startup.started_age_s,
                             worker.startup.first_output_age_s, worker.startup.first_step_age_s});
    if (facts.store_node && node.startup.clients.size() <= facts.clients.size()) continue;
    facts.store_node = node.node_rank;
    facts.clients = node.startup.clients;
  }
  return facts;
}

}  // namespace

StartupTable startup_of(const std::vector<NodeReport>& nodes) { return startup_table(facts_of(nodes)); }

std::vector<NodeReport> with_store_ages(std::vector<NodeReport> nodes) {
  const StartupFacts facts = facts_of(nodes);
  const std::vector<std::optional<int>> ranks = ranks_of_clients(facts);
  std::map<int, double> ages;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i]) ages.emplace(*ranks[i], facts.clients[i].age_s);
  for (NodeReport& node : nodes) {
    node.startup = {};
    for (WorkerReport& worker : node.workers) {
      worker.startup.pids.clear();
      if (const auto found = ages.find(worker.rank); found != ages.end()) worker.startup.store_age_s = found->second;
    }
  }
  return nodes;
}

void limit_clients(NodeReport& report) {
  std::vector<StartupClient> all = std::exchange(report.startup.clients, {});
  if (all.empty()) return;
  std::size_t bytes = to_json(report).size();
  std::set<std::string> addresses;
  std::size_t told = 0;
  for (; told < all.size() && bytes < longest_answer; ++told) {
    const bool fresh = addresses.insert(all[told].address).second;
    bytes += bytes_of_client + (fresh ? bytes_of_address + all[told].address.size() : 0);
  }
  report.startup.clients_left_out = static_cast<int>(all.size() - told);
  all.resize(told);
  report.startup.clients = std::move(all);
}

std::string timeline_screen(const Screen& screen) {
  std::string text;
  add_title(text, screen);
  text += startup_screen(startup_of(screen.nodes), screen.columns);
  for (const NodeReport& node : screen.nodes) {
    if (!node.fault.empty()) add_line(text, node_line(node), screen.columns);
    if (node.startup.clients_left_out > 0)
      text += fmt::format("{} more processes have come than {} can tell another host; ask on that host\n",
                          node.startup.clients_left_out, title_of(node));
  }
  return text;
}

}  // namespace launch

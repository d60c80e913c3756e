#include "launch/core/startup/startup_table.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace launch {
namespace {

// Whose a client is.
struct Place {
  std::optional<int> rank;  // nullopt: that is not known
  bool ambiguous = false;   // it is one of several known workers
};

// Pids are not enough: each container may begin with the same ones. Nodes of one host and one network have the same
// addresses.
class Places {
 public:
  explicit Places(const StartupFacts& facts) {
    const auto store = std::find_if(facts.nodes.begin(), facts.nodes.end(),
                                    [&](const StartupNode& node) { return facts.store_node == node.rank; });
    store_known_ = store != facts.nodes.end();
    for (const StartupNode& node : facts.nodes) {
      for (const std::string& address : node.addresses) add(node, by_address_[address]);
      if (store_known_ && (node.rank == store->rank || node.addresses == store->addresses)) add(node, here_);
    }
  }

  Place of(const StartupClient& client) const {
    const bool here = client.here && store_known_;
    const auto address = by_address_.find(client.address);
    if (!here && address == by_address_.end()) return {};
    const Ranks& ranks = here ? here_ : address->second;
    const auto found = ranks.find(static_cast<int>(client.pid));
    if (found == ranks.end()) return {};
    const bool certain = found->second.size() == 1;
    return {certain ? std::optional(*found->second.begin()) : std::nullopt, !certain};
  }

 private:
  using Ranks = std::unordered_map<int, std::set<int>>;  // by pid

  static void add(const StartupNode& node, Ranks& ranks) {
    for (const StartupWorker& worker : node.workers)
      for (const int pid : worker.pids) ranks[pid].insert(worker.rank);
  }

  std::unordered_map<std::string, Ranks> by_address_;
  Ranks here_;  // on the host of the store
  bool store_known_ = false;
};

// Clients of which it is not known whose they are.
struct Unplaced {
  std::size_t ambiguous = 0, others = 0;
};

// All may be there although it is not known of each. A client that is no known worker's may be one of a node that has
// not answered, and such a node may be on a known host; but it never stands for a known worker.
void judge(const StartupFacts& facts, const Unplaced& unplaced, StartupTable& table) {
  std::size_t came = 0;
  double last = 0;
  for (const StartupRank& rank : table.ranks) {
    if (!rank.store) continue;
    ++came;
    last = std::max(last, *rank.store);
  }
  const auto size = static_cast<std::size_t>(std::max(facts.world_size, 0));
  const std::size_t known = table.ranks.size();
  const std::size_t untold = size > known ? size - known : 0;
  const std::size_t joined = std::min(came + unplaced.ambiguous, known) + std::min(unplaced.others, untold);
  table.lacking = size > joined ? size - joined : 0;
  if (size == 0 || table.lacking > 0) return;
  table.formed = came >= size ? last : std::max(last, table.now - facts.clients.at(size - 1).age_s);
}

void add_arrivals(const StartupFacts& facts, StartupTable& table) {
  std::unordered_map<int, StartupRank*> by_rank;
  for (StartupRank& rank : table.ranks) by_rank.emplace(rank.rank, &rank);
  const Places places(facts);
  Unplaced unplaced;
  for (const StartupClient& client : facts.clients) {
    const Place place = places.of(client);
    if (!place.rank) ++(place.ambiguous ? unplaced.ambiguous : unplaced.others);
    const auto found = place.rank ? by_rank.find(*place.rank) : by_rank.end();
    if (found != by_rank.end() && !found->second->store) found->second->store = std::max(table.now - client.age_s, 0.0);
  }
  table.unplaced = unplaced.ambiguous + unplaced.others;
  judge(facts, unplaced, table);
}

}  // namespace

std::vector<std::optional<int>> ranks_of_clients(const StartupFacts& facts) {
  const Places places(facts);
  std::vector<std::optional<int>> ranks;
  ranks.reserve(facts.clients.size());
  for (const StartupClient& client : facts.clients) ranks.push_back(places.of(client).rank);
  return ranks;
}

StartupTable startup_table(const StartupFacts& facts) {
  StartupTable table;
  table.world_size = facts.world_size;
  table.store_known = facts.store_node.has_value();
  table.clients = facts.clients.size();
  table.clients_left_out = facts.clients_left_out;
  for (const StartupNode& node : facts.nodes)
    for (const StartupWorker& worker : node.workers) table.now = std::max(table.now, worker.started_age_s.value_or(0));
  const auto moment = [&table](std::optional<double> age) {
    return age ? std::optional(std::max(table.now - *age, 0.0)) : std::nullopt;
  };
  for (const StartupNode& node : facts.nodes) {
    table.hosts[node.rank] = node.host;
    for (const StartupWorker& worker : node.workers)
      table.ranks.push_back({worker.rank,
                             node.rank,
                             moment(worker.started_age_s),
                             moment(worker.output_age_s),
                             {},
                             moment(worker.step_age_s)});
  }
  std::sort(table.ranks.begin(), table.ranks.end(),
            [](const StartupRank& one, const StartupRank& other) { return one.rank < other.rank; });
  add_arrivals(facts, table);
  return table;
}

double end_of(const StartupTable& table) {
  double end = table.formed.value_or(table.now);
  for (const StartupRank& rank : table.ranks) end = std::max(end, rank.step.value_or(0));
  return std::max(end, 0.001);
}

std::optional<double> median_arrival(const std::vector<StartupRank>& ranks) {
  std::vector<double> times;
  for (const StartupRank& rank : ranks)
    if (rank.store) times.push_back(*rank.store);
  if (times.empty()) return std::nullopt;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::vector<StartupRank> slowest_ranks(const StartupTable& table, std::size_t most) {
  std::vector<StartupRank> ranks;
  for (const StartupRank& rank : table.ranks)
    if (rank.store) ranks.push_back(rank);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const StartupRank& one, const StartupRank& other) { return *one.store > *other.store; });
  if (ranks.size() > most) ranks.resize(most);
  return ranks;
}

std::vector<StartupRank> missing_ranks_of(const StartupTable& table) {
  std::vector<StartupRank> ranks;
  for (const StartupRank& rank : table.ranks)
    if (!rank.store) ranks.push_back(rank);
  return ranks;
}

std::vector<StartupGroup> groups_by_node(const StartupTable& table) {
  std::map<int, StartupGroup> groups;
  for (const StartupRank& rank : table.ranks) {
    groups[rank.node].node = rank.node;
    groups[rank.node].ranks.push_back(rank);
  }
  std::vector<StartupGroup> result;
  for (auto& [node, group] : groups) {
    group.median = median_arrival(group.ranks);
    result.push_back(std::move(group));
  }
  const auto is_whole = [](const StartupGroup& group) {
    return std::all_of(group.ranks.begin(), group.ranks.end(), [](const StartupRank& rank) { return rank.store; });
  };
  std::stable_sort(result.begin(), result.end(), [&](const StartupGroup& one, const StartupGroup& other) {
    return std::tuple(is_whole(one), -one.median.value_or(0)) < std::tuple(is_whole(other), -other.median.value_or(0));
  });
  return result;
}

}  // namespace launch

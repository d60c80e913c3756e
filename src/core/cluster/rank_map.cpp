#include "launch/core/cluster/rank_map.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/start_values.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace launch {
namespace {

// From a node on, so many nodes, so many ranks on each.
using Block = std::array<int, 3>;

// Reads a map from its beginning on; what is taken is gone.
class MapReader {
 public:
  explicit MapReader(std::string_view text) : text_(text) {}

  // nullopt: it is nonsense, or speaks of more than a start can have.
  std::optional<std::vector<Block>> read() {
    if (!take("(vector")) return std::nullopt;
    std::vector<Block> blocks;
    while (take(",")) {
      const bool good = take("[") ? read_repeated(blocks) : read_block(blocks);
      if (!good || blocks.size() > static_cast<std::size_t>(most_cluster_nodes)) return std::nullopt;
    }
    return take(")") && text_.empty() && !blocks.empty() ? std::optional(std::move(blocks)) : std::nullopt;
  }

 private:
  bool take(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  bool take_number(int least, int& number) {
    const std::size_t digits = std::min(text_.find_first_not_of("0123456789"), text_.size());
    const auto found = parse_int(text_.substr(0, digits));
    if (!found || *found < least || *found > most_cluster_nodes) return false;
    text_.remove_prefix(digits);
    number = *found;
    return true;
  }

  // "(0,3,2)", or "0" for one rank on that node.
  bool read_block(std::vector<Block>& blocks) {
    Block block{0, 1, 1};
    if (!take("(")) {
      if (!take_number(0, block[0])) return false;
    } else if (!take_number(0, block[0]) || !take(",") || !take_number(1, block[1]) || !take(",") ||
               !take_number(1, block[2]) || !take(")")) {
      return false;
    }
    blocks.push_back(block);
    return true;
  }

  // "(0,2,1),3]x2", after its beginning.
  bool read_repeated(std::vector<Block>& blocks) {
    std::vector<Block> part;
    do {
      if (!read_block(part)) return false;
    } while (take(","));
    int times = 0;
    if (!take("]x") || !take_number(1, times)) return false;
    if (part.size() * static_cast<std::size_t>(times) > static_cast<std::size_t>(most_cluster_nodes)) return false;
    for (int i = 0; i < times; ++i) blocks.insert(blocks.end(), part.begin(), part.end());
    return true;
  }

  std::string_view text_;
};

}  // namespace

Result<MappedPlace> place_by_map(std::string_view map, int task, int tasks) {
  const auto blocks = MapReader(map).read();
  std::vector<int> order;         // the nodes, each at its first rank
  std::map<int, int> counted_on;  // ranks so far, by node
  std::optional<TaskPlace> place;
  int rank = 0;
  // A map may be shorter than the job: then it is dealt out again from its beginning.
  while (blocks && rank < tasks)
    for (const auto& [first, nodes, ranks] : *blocks)
      for (int node = first; node < first + nodes && rank < tasks; ++node)
        for (int i = 0; i < ranks && rank < tasks; ++i, ++rank) {
          const int local = counted_on[node]++;
          if (local == 0) order.push_back(node);
          if (rank == task) place = TaskPlace{local, 0, NodeRank(node), 0};
        }
  if (!place) return protocol_error(fmt::format("the starter's map of ranks is {}", shown(beginning_of(map, 80))));
  const int own = place->node.value;
  place->local_tasks = counted_on[own];
  place->nodes = static_cast<int>(order.size());
  const auto at = std::find(order.begin(), order.end(), own);
  place->node = NodeRank(static_cast<int>(at - order.begin()));
  const auto add = [&](int before, int node) { return before + counted_on[node]; };
  return MappedPlace{*place, std::accumulate(order.begin(), at, place->local_task, add)};
}

std::string map_of_hosts(const std::vector<std::string>& hosts) {
  std::map<std::string, int> numbers;
  std::vector<Block> blocks;  // first one for each run of ranks on a node
  for (const std::string& host : hosts) {
    const int node = numbers.emplace(host, static_cast<int>(numbers.size())).first->second;
    if (!blocks.empty() && blocks.back()[0] == node) {
      ++blocks.back()[2];
    } else {
      blocks.push_back({node, 1, 1});
    }
  }
  std::string text;
  for (std::size_t i = 0; i < blocks.size();) {
    auto [first, nodes, ranks] = blocks[i++];
    for (; i < blocks.size() && blocks[i][0] == first + nodes && blocks[i][2] == ranks; ++i) ++nodes;
    text += fmt::format(",({},{},{})", first, nodes, ranks);
  }
  return text.empty() ? "" : "(vector" + text + ")";
}

}  // namespace launch

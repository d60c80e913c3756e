#include "launch/core/c10d/elastic_state.hpp"

#include <algorithm>
#include <cstring>

namespace launch {
namespace {

// Runs of digits count as numbers.
bool natural_less(const NodeDesc& left, const NodeDesc& right) {
  const int order = ::strverscmp(left.addr.c_str(), right.addr.c_str());
  if (order != 0) return order < 0;
  return left < right;
}

}  // namespace

void complete_round(ElasticState& state, const std::vector<NodeDesc>& order) {
  state.complete = true;
  state.deadline.reset();
  int rank = 0;
  for (const NodeDesc& node : order) state.participants[node] = rank++;
}

std::vector<NodeDesc> rank_order(const ElasticState& state, const std::map<NodeDesc, int>& before) {
  std::vector<NodeDesc> order;
  for (const auto& [node, rank] : state.participants) order.push_back(node);
  const bool natural = std::all_of(order.begin(), order.end(), is_launch);
  const auto rank_before = [&](const NodeDesc& node) {
    const auto found = before.find(node);
    return found == before.end() ? static_cast<int>(before.size()) : found->second;
  };
  std::sort(order.begin(), order.end(), [&](const NodeDesc& left, const NodeDesc& right) {
    const int left_rank = rank_before(left);
    const int right_rank = rank_before(right);
    if (left_rank != right_rank) return left_rank < right_rank;
    return natural ? natural_less(left, right) : left < right;
  });
  return order;
}

void remove_node(ElasticState& state, const NodeDesc& node, const NodeLimits& limits) {
  state.last_heartbeats.erase(node);
  state.wait_list.erase(node);
  state.redundancy_list.erase(node);
  if (state.participants.erase(node) == 0) return;
  if (state.complete) {
    if (!state.participants.empty()) return;
    state.complete = false;
    ++state.round;
  } else if (static_cast<int>(state.participants.size()) < limits.min) {
    state.deadline.reset();
  }
}

}  // namespace launch

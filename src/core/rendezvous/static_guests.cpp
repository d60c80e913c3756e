#include "launch/core/rendezvous/static_guests.hpp"

#include "launch/core/store/keys.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <algorithm>
#include <utility>

namespace launch {
namespace {

// How long a lost node may take to come back. If its own worker failed, those of other nodes usually fail too, and
// their reports say more.
constexpr Duration comes_back = std::chrono::seconds(1);

}  // namespace

StaticGuests::StaticGuests(std::string run_id, int nnodes)
    : formed_key_(ranks_key(run_id, 0)),
      barrier_key_(ended_count_key(run_id)),
      run_id_(std::move(run_id)),
      nnodes_(nnodes) {}

void StaticGuests::saw(ConnectionId from, const Request& request, const StoreTable& table) {
  if (const auto* set = std::get_if<SetRequest>(&request)) {
    saw_key(from, set->key, table);
  } else if (const auto* several = std::get_if<MultiSetRequest>(&request)) {
    for (const SetRequest& entry : several->entries) saw_key(from, entry.key, table);
  } else if (const auto* add = std::get_if<AddRequest>(&request)) {
    if (add->key == barrier_key_ && add->amount > 0) nodes_.erase(from);
  }
}

void StaticGuests::saw_key(ConnectionId from, std::string_view key, const StoreTable& table) {
  formed_ = formed_ || key == formed_key_;
  const auto node = node_of(key);
  if (!node) return;
  std::erase_if(nodes_, [&](const auto& entry) { return entry.second == *node; });
  gone_.erase(*node);
  if (!table.get(claim_key(run_id_, *node))) nodes_[from] = *node;
}

std::optional<int> StaticGuests::node_of(std::string_view key) const {
  const auto node = node_of_role_info(key, run_id_);
  return node && *node >= 0 && *node < nnodes_ ? node : std::nullopt;
}

void StaticGuests::drop(ConnectionId connection, Time now) {
  const auto node = nodes_.extract(connection);
  if (!node.empty()) gone_[node.mapped()] = later(now, comes_back);
}

Time StaticGuests::deadline() const {
  Time next = never;
  if (!formed_) return next;
  for (const auto& [node, lost] : gone_) next = std::min(next, lost);
  return next;
}

std::vector<NodeRank> StaticGuests::take_lost(Time now) {
  std::vector<NodeRank> lost;
  if (!formed_) return lost;
  for (const auto& [node, when] : gone_)
    if (when <= now) lost.emplace_back(node);
  for (const NodeRank node : lost) gone_.erase(node.value);
  return lost;
}

std::string loss_of_guest(NodeRank node) {
  return to_json(failure_of_lost_node({node, ""}, "its torchrun ended before its workers had succeeded"));
}

}  // namespace launch

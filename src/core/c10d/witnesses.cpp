#include "launch/core/c10d/witnesses.hpp"

namespace launch {

void Witnesses::add(ConnectionId connection, const NodeDesc& node) {
  drop(connection);
  give_up(node);
  by_node_.emplace(node, connection);
  by_connection_.emplace(connection, node);
}

void Witnesses::drop(ConnectionId connection) {
  const auto found = by_connection_.find(connection);
  if (found == by_connection_.end()) return;
  by_node_.erase(found->second);
  by_connection_.erase(found);
}

void Witnesses::give_up(const NodeDesc& node) {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) return;
  void_.push_back(found->second);
  by_connection_.erase(found->second);
  by_node_.erase(found);
}

}  // namespace launch

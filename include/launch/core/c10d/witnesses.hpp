// Connections on which nodes only wait for the end of this process (core/session/host_witness). When the node of one is
// lost or given up, that connection must be reset, so that its end is no proof of anything for that node. Used by
// Membership. A node has one at a time.
#pragma once

#include "launch/core/job/node_desc.hpp"
#include "launch/core/store/store_table.hpp"

#include <map>
#include <utility>
#include <vector>

namespace launch {

class Witnesses {
 public:
  void add(ConnectionId connection, const NodeDesc& node);
  // Its connection has ended.
  void drop(ConnectionId connection);
  // The node is lost, or given up.
  void give_up(const NodeDesc& node);
  // The connections that must be reset since this was called last.
  std::vector<ConnectionId> take_void() { return std::exchange(void_, {}); }

 private:
  std::map<NodeDesc, ConnectionId> by_node_;
  std::map<ConnectionId, NodeDesc> by_connection_;
  std::vector<ConnectionId> void_;
};

}  // namespace launch

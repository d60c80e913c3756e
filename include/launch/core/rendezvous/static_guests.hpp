// torchrun's nodes in a static job, if a launch agent hosts the store. They leave no will and tell nobody of a failure.
// A connection that writes a node's role_info shows which node it is. When that connection counts itself in torchrun's
// exit barrier, the node has ended well.
//
// agent_store tells it what is asked for and which connections end; it says which nodes are lost.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/job/rank.hpp"
#include "launch/core/store/store_table.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

class StaticGuests {
 public:
  StaticGuests(std::string run_id, int nnodes);

  // `from` sends this request to `table`, in which launch agents have claimed their ranks before.
  void saw(ConnectionId from, const Request& request, const StoreTable& table);
  void drop(ConnectionId connection, Time now);

  // When the next node counts as lost, unless it comes back. No node does before the job has formed: until then it may
  // be started again.
  Time deadline() const;
  // The nodes that are lost by now; each is returned once.
  std::vector<NodeRank> take_lost(Time now);

  const std::string& run_id() const { return run_id_; }

 private:
  void saw_key(ConnectionId from, std::string_view key, const StoreTable& table);
  std::optional<int> node_of(std::string_view key) const;

  std::string formed_key_, barrier_key_;
  std::string run_id_;
  int nnodes_;
  bool formed_ = false;
  std::map<ConnectionId, int> nodes_;  // nodes that have not ended well, by their connection
  std::map<int, Time> gone_;           // nodes whose connection ended, and when they count as lost
};

// What the others are told of a lost node, as JSON.
std::string loss_of_guest(NodeRank node);

}  // namespace launch

// torchrun's nodes in a static job whose store a launch agent hosts. They leave no will and tell nobody of a failure:
// who they are is known by who has written a node's role_info, and that one has come to its good end by its counting
// itself in torchrun's exit barrier.
//
// Told by agent_store of what is asked for and which connections end; says which nodes are lost.
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

  // `from` asks for this of `table`, where launch agents have claimed their ranks before.
  void saw(ConnectionId from, const Request& request, const StoreTable& table);
  void drop(ConnectionId connection, Time now);

  // When a node is lost, unless it has come back. Not before the job has formed: till then it may be started again.
  Time deadline() const;
  // Those that are by now, each once.
  std::vector<NodeRank> take_lost(Time now);

  const std::string& run_id() const { return run_id_; }

 private:
  void saw_key(ConnectionId from, std::string_view key, const StoreTable& table);
  std::optional<int> node_of(std::string_view key) const;

  std::string formed_key_, barrier_key_;
  std::string run_id_;
  int nnodes_;
  bool formed_ = false;
  std::map<ConnectionId, int> nodes_;  // that are not at their end
  std::map<int, Time> gone_;           // when they are lost
};

// What the others are told of a lost one, as JSON.
std::string loss_of_guest(NodeRank node);

}  // namespace launch

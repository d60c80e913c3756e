// torchrun's agents as the host of their job's store knows them: by the heartbeats that they write under the state's
// key, and by the connections over which they do. Used by Membership, which says who is lost. Their heartbeats are
// compared with nothing but their own earlier ones.
#pragma once

#include "launch/core/c10d/elastic_state.hpp"
#include "launch/core/store/store_table.hpp"

#include <map>
#include <optional>
#include <vector>

namespace launch {

class TorchrunAgents {
 public:
  // A write of the state: of the nodes in `after` those whose heartbeat is new have written it.
  struct Write {
    ConnectionId writer = 0;
    const ElasticState& before;
    const ElasticState& after;
  };
  // REQUIRES: `node` is torchrun's, and is in `after`.
  void learn(const Write& write, const NodeDesc& node, Time now);
  // Of those that are no longer in the state nothing is known; who is in it has come back.
  void look_at(const ElasticState& state);
  void forget(const NodeDesc& node);

  bool is_writer(ConnectionId connection, const NodeDesc& node) const;
  // The connection has ended: the agent that has written over it, if one has.
  std::optional<NodeDesc> drop(ConnectionId connection);

  // A member has left the round, to come back before `until`, or it is dead.
  void leaves(const NodeDesc& node, Time until);
  void expect_nobody_back() { returning_.clear(); }
  // Those that are about to enter the round that forms: they have left the last one, or wait.
  int due(const ElasticState& forming) const;

  // Those that have written no heartbeat for so long; they are forgotten.
  std::vector<NodeDesc> take_silent(Time now, Duration silence);
  Time deadline(Duration silence) const;

 private:
  std::map<NodeDesc, Time> seen_;  // since when there was no new heartbeat
  std::map<ConnectionId, NodeDesc> writers_;
  std::map<NodeDesc, Time> returning_;
};

// An agent, following torchrun's rules, may make `after` of `before`. Whoever reaches the port may write.
bool may_follow(const ElasticState& before, const ElasticState& after);

}  // namespace launch

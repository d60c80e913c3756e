// What the host of a job's store knows of torchrun's agents: the heartbeats that they write under the state's key, and
// the connections over which they write. Used by Membership, which decides who is lost. A heartbeat is compared only
// with earlier ones of the same agent.
#pragma once

#include "launch/core/c10d/elastic_machine.hpp"
#include "launch/core/store/store_table.hpp"

#include <map>
#include <optional>
#include <vector>

namespace launch {

class TorchrunAgents {
 public:
  // A write of the state. The nodes in `after` whose heartbeat is new have written it.
  struct Write {
    ConnectionId writer = 0;
    const ElasticState& before;
    const ElasticState& after;
  };
  // REQUIRES: `node` is torchrun's, and is in `after`.
  void learn(const Write& write, const NodeDesc& node, Time now);
  // Forgets agents that are no longer in the state; an agent that is a participant has come back.
  void look_at(const ElasticState& state);
  void forget(const NodeDesc& node);

  // Why the round breaks up, for each member that the write has removed. One that removed itself comes back before
  // `until`, or it is dead.
  std::vector<RoundBroken> who_left(const Write& write, Time until);
  bool is_writer(ConnectionId connection, const NodeDesc& node) const;
  // The connection has ended. Returns the agent that has written over it, if one has.
  std::optional<NodeDesc> drop(ConnectionId connection);

  // A member has left the round: it comes back before `until`, or it is dead.
  void leaves(const NodeDesc& node, Time until);
  void expect_nobody_back() { returning_.clear(); }
  // How many are about to join the round that forms: they have left the last one, or wait.
  int due(const ElasticState& forming) const;

  // Those that have written no heartbeat for `silence`; they are forgotten.
  std::vector<NodeDesc> take_silent(Time now, Duration silence);
  Time deadline(Duration silence) const;

 private:
  std::map<NodeDesc, Time> seen_;  // when the last new heartbeat came
  std::map<ConnectionId, NodeDesc> writers_;
  std::map<NodeDesc, Time> returning_;
};

// Whether an agent that follows torchrun's rules may turn `before` into `after`. Checked because anyone that reaches
// the port may write.
bool may_follow(const ElasticState& before, const ElasticState& after);

}  // namespace launch

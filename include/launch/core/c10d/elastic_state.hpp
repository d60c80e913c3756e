// The state that the agents of a c10d rendezvous share under one key, and the changes that they make to it, by
// torchrun's rules. Values only: ElasticRendezvous decides who writes them and when. Times are of the wall clock,
// because torchrun writes those; the clocks of two hosts are never compared.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/config/elastic_settings.hpp"
#include "launch/core/job/node_desc.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace launch {

struct ElasticState {
  std::int64_t round = 0;
  bool complete = false;
  std::optional<WallTime> deadline;  // of the last call
  bool closed = false;               // for good
  std::map<NodeDesc, int> participants;
  std::set<NodeDesc> wait_list;        // nodes that want the next round soon
  std::set<NodeDesc> redundancy_list;  // spares, above the maximum
  std::map<NodeDesc, WallTime> last_heartbeats;

  bool listed(const NodeDesc& node) const {
    return participants.contains(node) || wait_list.contains(node) || redundancy_list.contains(node);
  }
  bool operator==(const ElasticState&) const = default;
};

// A round has formed: this one or an earlier one.
inline bool has_begun(const ElasticState& state) { return state.complete || state.round > 0; }

// `order` has the participants in the order of their ranks.
void complete_round(ElasticState& state, const std::vector<NodeDesc>& order);

// Members of the round before keep their order, so that rank 0 stays where it was, if it can. The others follow: as
// torchrun sorts them, or, if all are launch agents, in natural order (n2 before n10).
std::vector<NodeDesc> rank_order(const ElasticState& state, const std::map<NodeDesc, int>& before);

// Forgets a node that left or died. When nobody is left in a complete round, the next one begins. When an incomplete
// one falls below the minimum, its last call is cancelled.
void remove_node(ElasticState& state, const NodeDesc& node, const NodeLimits& limits);

}  // namespace launch

// The state that the agents of a c10d rendezvous share under one key, and the steps they take on it, by torchrun's
// rules. Values only: who writes them and when is ElasticRendezvous' business. Times are of the wall clock, because
// torchrun writes them so; no clock of two hosts is compared.
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
  std::set<NodeDesc> wait_list;        // they want the next round soon
  std::set<NodeDesc> redundancy_list;  // spares, above the maximum
  std::map<NodeDesc, WallTime> last_heartbeats;

  bool listed(const NodeDesc& node) const {
    return participants.contains(node) || wait_list.contains(node) || redundancy_list.contains(node);
  }
  bool operator==(const ElasticState&) const = default;
};

// A round has formed, be it this one or an earlier one.
inline bool has_begun(const ElasticState& state) { return state.complete || state.round > 0; }

// The order of ranks is given by `order`, which holds the participants.
void complete_round(ElasticState& state, const std::vector<NodeDesc>& order);

// Those of the round before keep their order, so that rank 0 stays where it was, if it can. The others follow: as
// torchrun sorts them, or, where all are launch agents, in natural order (n2 before n10).
std::vector<NodeDesc> rank_order(const ElasticState& state, const std::map<NodeDesc, int>& before);

// Forgets a node that left or died. When nobody is left of a complete round, the next one begins; an incomplete one
// that falls below the minimum has its last call taken back.
void remove_node(ElasticState& state, const NodeDesc& node, const NodeLimits& limits);

}  // namespace launch

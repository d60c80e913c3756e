#include "launch/core/c10d/formed_round.hpp"

#include "launch/core/job/ranks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace launch {

FormedRound::FormedRound(std::int64_t round, std::vector<NodeDesc> order,
                         const std::function<const Attendance*(const NodeDesc&)>& said_of)
    : round_(round), order_(std::move(order)) {
  std::vector<Member> members;
  std::size_t doors = 0;
  for (const NodeDesc& node : order_) {
    const NodeRank rank(static_cast<int>(ranks_.size()));
    ranks_.emplace(node, rank.value);
    if (!is_launch(node)) torchrun_.push_back(rank);
    const Attendance* const said = said_of(node);
    if (said == nullptr) continue;
    if (said->hosts) {
      succession_.host = rank;
      succession_.host_node = node;
    } else if (said->door.port != 0) {
      if (succession_.line.size() < most_heirs) succession_.line.push_back({rank, node, said->door});
      ++doors;
    }
    restarts_ = std::max(restarts_, said->restarts);
    members.push_back(said->member);
    members.back().group_rank = rank;
  }
  succession_.round = round_;
  succession_.nnodes = static_cast<int>(order_.size());
  const std::size_t all = order_.size() - (succession_.host.known() ? 1 : 0);
  if (doors < all) succession_.line.clear();
  if (members.size() == order_.size()) assignments_ = assign_ranks(members);
}

RoundFormed FormedRound::news_for(const NodeDesc& node) const {
  const NodeRank rank(ranks_.at(node));
  RoundFormed formed{round_, rank, static_cast<int>(order_.size()), order_.front(), torchrun_, std::nullopt, restarts_};
  if (!succession_.line.empty()) formed.succession = succession_;
  if (!succession_.line.empty()) formed.succession.rank = rank;
  if (!assignments_.empty()) formed.assignment = assignments_.at(rank.index());
  return formed;
}

int FormedRound::place_of(const NodeDesc& node) const {
  const NodeRank rank = rank_of(node);
  return rank.known() ? rank.value : std::numeric_limits<int>::max();
}

NodeRank FormedRound::rank_of(const NodeDesc& node) const {
  const auto found = ranks_.find(node);
  return found == ranks_.end() ? NodeRank::none() : NodeRank(found->second);
}

}  // namespace launch

#include "launch/core/c10d/formed_round.hpp"

#include "launch/core/job/endpoint.hpp"
#include "launch/core/job/ranks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace launch {
namespace {

// Nodes on the host's own machine may have doors at its loopback address, which leads nodes of others to themselves.
void shorten(std::vector<Heir>& line) {
  const auto is_near = [](const Heir& heir) { return is_loopback(heir.door.at.host); };
  if (!std::all_of(line.begin(), line.end(), is_near)) std::erase_if(line, is_near);
  if (line.size() > most_heirs) line.erase(line.begin() + most_heirs, line.end());
}

}  // namespace

FormedRound::FormedRound(std::int64_t round, std::vector<NodeDesc> order,
                         const std::function<const Attendance*(const NodeDesc&)>& said_of)
    : round_(round), order_(std::move(order)) {
  std::vector<Member> members;
  for (const NodeDesc& node : order_) {
    const NodeRank rank(static_cast<int>(ranks_.size()));
    ranks_.emplace(node, rank.value);
    if (!is_launch(node)) torchrun_.push_back(rank);
    const Attendance* const said = said_of(node);
    if (said == nullptr) continue;
    if (said->hosts) {
      succession_.host = rank;
      succession_.host_node = node;
      succession_.store = said->door.store;
    } else if (said->door.at.port != 0) {
      succession_.line.push_back({rank, node, said->door});
    }
    restarts_ = std::max(restarts_, said->restarts);
    members.push_back(said->member);
    members.back().group_rank = rank;
  }
  succession_.round = round_;
  succession_.nnodes = static_cast<int>(order_.size());
  const std::size_t all = order_.size() - (succession_.host.known() ? 1 : 0);
  if (succession_.line.size() < all || succession_.store.empty()) succession_.line.clear();
  shorten(succession_.line);
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

bool FormedRound::leads_to(const NodeDesc& node) const {
  const auto& line = succession_.line;
  return std::any_of(line.begin(), line.end(), [&](const Heir& heir) { return heir.node == node; });
}

void FormedRound::end(const NodeDesc& node) {
  const NodeRank rank = rank_of(node);
  if (succession_.line.empty() || !rank.known() || rank == succession_.host) return;
  LastRound with;
  with.ended.push_back(rank);
  add_ended(succession_.ended, with);
}

int FormedRound::place_of(const NodeDesc& node) const {
  const NodeRank rank = rank_of(node);
  return rank.known() ? rank.value : std::numeric_limits<int>::max();
}

int FormedRound::members_in(const std::vector<NodeDesc>& order) const {
  const auto is_one = [this](const NodeDesc& node) { return ranks_.contains(node); };
  return static_cast<int>(std::find_if_not(order.begin(), order.end(), is_one) - order.begin());
}

NodeRank FormedRound::rank_of(const NodeDesc& node) const {
  const auto found = ranks_.find(node);
  return found == ranks_.end() ? NodeRank::none() : NodeRank(found->second);
}

}  // namespace launch

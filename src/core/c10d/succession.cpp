#include "launch/core/c10d/succession.hpp"

#include <algorithm>

namespace launch {
namespace {

constexpr Duration for_spares = std::chrono::seconds(5);  // which hear of the loss when the members do

}  // namespace

bool may_run(const Part& part) {
  if (part.present.empty()) return false;
  if (part.present.size() + part.ended.size() >= part.all.size()) return true;
  const std::size_t twice = 2 * part.present.size();
  return twice > part.all.size() || (twice == part.all.size() && part.present.contains(*part.all.begin()));
}

void Regrouping::hear(const Visit& visit, const Comeback& comeback, Time now) {
  term_ = std::max(term_, comeback.term);
  visitors_[visit.node] = {comeback.last.round, comeback.last.rank, visit.joins};
  if (comeback.last.round > base_.round) take_base(comeback.last);
  if (comeback.last.round == base_.round)
    for (const NodeRank rank : comeback.ended)
      if (part_.all.contains(rank.value)) part_.ended.insert(rank.value);
  count(visit.node, visitors_.at(visit.node));
  if (!visit.hosts) return;
  host_ = visit.node;
  host_is_in_ = visit.joins;
  if (wait_until_ == never && comeback.wait > Duration::zero()) wait_until_ = later(now, comeback.wait);
}

void Regrouping::lose(const NodeDesc& node) {
  const auto visitor = visitors_.find(node);
  if (visitor == visitors_.end()) return;
  const int rank = rank_of(node, visitor->second);
  part_.present.erase(rank);
  stopping_.erase(rank);
  if (node == host_) host_is_in_ = false;
  visitors_.erase(visitor);
}

void Regrouping::take_base(const LastRound& last) {
  base_ = last;
  part_ = {};
  stopping_.clear();
  for (int rank = 0; rank < last.nnodes; ++rank)
    if (NodeRank(rank) != last.host) part_.all.insert(rank);
  for (const auto& [node, visitor] : visitors_) count(node, visitor);
}

// A member that did not hear of the base round, since its host ended while it told the members, is known by its name.
int Regrouping::rank_of(const NodeDesc& node, const Visitor& visitor) const {
  if (visitor.round == base_.round) return visitor.rank.value;
  const auto heir =
      std::find_if(base_.line.begin(), base_.line.end(), [&](const Heir& one) { return one.node == node; });
  return heir == base_.line.end() ? -1 : heir->rank.value;
}

void Regrouping::count(const NodeDesc& node, const Visitor& visitor) {
  const int rank = rank_of(node, visitor);
  if (!part_.all.contains(rank)) return;
  part_.ended.erase(rank);
  (visitor.joins ? part_.present : stopping_).insert(rank);
  (visitor.joins ? stopping_ : part_.present).erase(rank);
}

bool Regrouping::may_form() const {
  return host_is_in_ && stopping_.empty() && may_run(part_) && (waited_ || arrived() >= awaited());
}

bool Regrouping::wait_for_more(Time now) {
  more_until_ = std::min(more_until_, later(now, for_spares));
  return now < more_until_;
}

void Regrouping::on_deadline(Time now) {
  waited_ = waited_ || now >= wait_until_;
  passed_ = passed_ || now >= more_until_;
}

std::map<NodeDesc, int> Regrouping::ranks() const {
  std::map<NodeDesc, int> ranks;
  for (const auto& [node, visitor] : visitors_)
    if (const int rank = rank_of(node, visitor); rank >= 0) ranks.emplace(node, rank);
  return ranks;
}

}  // namespace launch

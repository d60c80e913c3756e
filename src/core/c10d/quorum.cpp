#include "launch/core/c10d/quorum.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace launch {
namespace {

constexpr int looks_per_lease = 24;

}  // namespace

Electorate::Electorate(const std::vector<NodeDesc>& by_rank) {
  for (const NodeDesc& node : by_rank) {
    const int rank = static_cast<int>(ranks_.size());
    ranks_.emplace(node, rank);
    part_.all.insert(rank);
  }
}

Electorate::Electorate(std::map<NodeDesc, int> ranks, Part all) : ranks_(std::move(ranks)), part_(std::move(all)) {
  part_.present.clear();
  part_.absent += std::exchange(part_.unnamed, 0);
}

void Electorate::end(const NodeDesc& node) {
  const auto found = ranks_.find(node);
  if (found == ranks_.end()) return;
  part_.all.erase(found->second);
  part_.ended.erase(found->second);
  ranks_.erase(found);
}

bool Electorate::may_run(const std::vector<const NodeDesc*>& present) const {
  Part part = part_;
  for (const NodeDesc* const node : present) {
    const auto found = ranks_.find(*node);
    if (found == ranks_.end() || !part.all.contains(found->second)) continue;
    part.ended.erase(found->second);
    part.present.insert(found->second);
  }
  return launch::may_run(part);
}

int Electorate::begins(const std::vector<NodeDesc>& order) const {
  const auto is_new = [this](const NodeDesc& node) { return !has(node); };
  return static_cast<int>(std::find_if(order.begin(), order.end(), is_new) - order.begin());
}

int Electorate::without(int present) const {
  return std::max(static_cast<int>(part_.all.size() - part_.ended.size()) + part_.absent - present, 0);
}

Time Electorate::enough_since(const std::map<NodeDesc, Time>& reached) const {
  std::vector<std::pair<Time, int>> latest;
  for (const auto& [node, rank] : ranks_) {
    const auto found = reached.find(node);
    if (found != reached.end() && part_.all.contains(rank)) latest.emplace_back(found->second, rank);
  }
  std::sort(latest.begin(), latest.end(), std::greater<>());
  const int all = static_cast<int>(part_.all.size()) + part_.absent;
  int here = 0, ended = static_cast<int>(part_.ended.size());
  bool has_lowest = false;
  for (const auto& [when, rank] : latest) {
    ++here;
    if (part_.ended.contains(rank)) --ended;
    has_lowest = has_lowest || rank == part_.lowest();
    if (is_enough(here, ended, all, has_lowest)) return when;
  }
  return long_ago;
}

// ---- rounds

void Quorum::take_over(Electorate last) {
  if (!on()) return;
  last_ = std::move(last);
  since_.clear();
  unaware_.clear();
  runs_ = false;
}

void Quorum::form(const std::vector<NodeDesc>& by_rank, Time now) {
  if (!on()) return;
  std::vector<NodeDesc> agents;
  std::copy_if(by_rank.begin(), by_rank.end(), std::back_inserter(agents), is_launch);
  since_.emplace_back(agents);
  unaware_ = {agents.begin(), agents.end()};
  formed_at_ = now;
  alone_ = agents.size() < by_rank.size();
}

// All of them have read what was sent when it formed.
bool Quorum::knows_round(const NodeDesc& node) {
  if (unaware_.erase(node) == 0 || !unaware_.empty()) return false;
  if (alone_) {
    take_over({});
    return true;
  }
  last_ = std::move(since_.back());
  since_.clear();
  std::map<NodeDesc, Time> reached;
  for (const auto& [member, rank] : last_.ranks()) {
    const auto before = reached_.find(member);
    reached[member] = before == reached_.end() ? formed_at_ : std::max(before->second, formed_at_);
  }
  reached_ = std::move(reached);
  std::erase_if(answered_, [this](const auto& one) { return !last_.has(one.first); });
  runs_ = true;
  enough_since_ = look_again_ = long_ago;
  return true;
}

void Quorum::end(const NodeDesc& node) {
  last_.end(node);
  for (Electorate& one : since_) one.end(node);
}

bool Quorum::may_form(const std::vector<const NodeDesc*>& present) const {
  const auto enough = [&](const Electorate& one) { return one.empty() || one.may_run(present); };
  return !on() || (enough(last_) && std::all_of(since_.begin(), since_.end(), enough));
}

Quorum::Past Quorum::past_of(const std::vector<NodeDesc>& order) const {
  if (!on() || last_.empty()) return {};
  const int old = last_.begins(order);
  return {old, last_.without(old)};
}

// ---- messages

void Quorum::beat(const NodeDesc& node) {
  if (!is_member(node)) return;
  if (const auto before = answered_.find(node); before != answered_.end()) {
    Time& reached = reached_.try_emplace(node, long_ago).first->second;
    reached = std::max(reached, before->second);
  }
}

void Quorum::answer(const NodeDesc& node, Time now) {
  if (is_member(node)) answered_[node] = now;
}

bool Quorum::is_member(const NodeDesc& node) const {
  return last_.has(node) ||
         std::any_of(since_.begin(), since_.end(), [&](const Electorate& one) { return one.has(node); });
}

Time Quorum::enough_since(Time now) {
  reached_[self_] = now;
  return last_.enough_since(reached_);
}

bool Quorum::may_answer(const NodeDesc& node, Time now) { return !last_.has(node) || has_enough(now); }

bool Quorum::has_enough(Time now) {
  if (!on() || !runs_) return true;
  const bool known = enough_since_ != long_ago;
  if (known && now <= later(enough_since_, lease_ * 2 / 3)) return true;
  if (now >= look_again_) {
    look_again_ = later(now, lease_ / looks_per_lease);
    enough_since_ = std::max(enough_since_, enough_since(now));
  }
  return enough_since_ != long_ago && now <= later(enough_since_, lease_);
}

}  // namespace launch

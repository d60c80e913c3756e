#include "launch/core/c10d/succession.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr Duration for_spares = std::chrono::seconds(5);  // which hear of the loss when the members do

int size_of(const std::set<int>& ranks) { return static_cast<int>(ranks.size()); }

void mark(std::set<int>& ranks, int rank, int by) {
  if (by > 0) {
    ranks.insert(rank);
  } else {
    ranks.erase(rank);
  }
}

}  // namespace

bool may_run(const Part& part) {
  const int here = size_of(part.present) + part.unnamed;
  const int all = size_of(part.all) + part.absent;
  const auto lowest = part.lowest();
  return is_enough(here, size_of(part.ended), all, lowest && part.present.contains(*lowest));
}

bool is_enough(int here, int ended, int all, bool with_lowest) {
  if (here == 0) return false;
  if (here + ended >= all || 2 * here > all) return true;
  return 2 * here == all && with_lowest;
}

void add_ended(std::vector<NodeRank>& ended, const LastRound& last) {
  for (const NodeRank rank : last.ended)
    if (std::find(ended.begin(), ended.end(), rank) == ended.end()) ended.push_back(rank);
}

bool gives_way(int term, const MovedJob& other) { return other.term > term; }

std::string too_few(int arrived, int awaited) {
  return fmt::format(
      "only {} of {} nodes that may be alive have come since the host was lost, and the others may go on without them",
      arrived, awaited);
}

void Regrouping::hear(const Visit& visit, const std::optional<Comeback>& comeback, Time now) {
  if (!comeback) {
    fresh_ = fresh_ || visit.hosts;
    return;
  }
  term_ = std::max(term_, comeback->term);
  const auto before = visitors_.find(visit.node);
  const bool is_new = before == visitors_.end();
  if (!is_new) count(visit.node, before->second, -1);
  Visitor& visitor = visitors_[visit.node];
  visitor = {comeback->last, visit.joins};
  visitor.last.line.clear();
  if (comeback->limit == Duration::zero()) {
    wait_again(*comeback, now);
  } else if (is_new) {
    wait_for_silent(*comeback, now);
  }
  if (comeback->last.is_after(base_)) {
    host_ended_ = comeback->host_ended;
    take_base(comeback->last);
  } else {
    count(visit.node, visitor, 1);
  }
  if (is_known(comeback->last) && comeback->host_ended) learn_end_of_host();
  if (is_known(comeback->last) && comeback->last.old == 0 && comeback->last.missing == 0) old_ = {};
  if (is_known(comeback->last))
    for (const NodeRank rank : comeback->ended)
      for (Part* const part : {&part_, &old_}) part->end(rank.value);
  if (!visit.hosts) return;
  host_ = visit.node;
  host_is_in_ = visit.joins;
}

// Workers of a round that nobody here knew, or of the store that has ended only now, may still run.
void Regrouping::wait_again(const Comeback& comeback, Time now) {
  if (comeback.left <= left_ && !comeback.last.is_after(base_)) return;
  left_ = std::max(left_, comeback.left);
  waited_ = false;
  wait_until_ = comeback.wait > Duration::zero() ? later(now, comeback.wait) : never;
}

// Each counts from the last that it has heard from its host.
void Regrouping::wait_for_silent(const Comeback& comeback, Time now) {
  limit_ = comeback.limit;
  const Time until = later(now, comeback.wait);
  wait_until_ = wait_until_ == never ? until : std::max(wait_until_, until);
  late_until_ = later(wait_until_, limit_);
  waited_ = waited_ && now >= wait_until_;
}

// Unless it is here: then another process had its place.
void Regrouping::learn_end_of_host() {
  host_ended_ = true;
  for (Part* const part : {&part_, &old_})
    if (!part->present.contains(base_.host.value)) part->all.erase(base_.host.value);
}

void Regrouping::lose(const NodeDesc& node, bool ended) {
  const auto visitor = visitors_.find(node);
  if (visitor == visitors_.end()) return;
  count(node, visitor->second, -1);
  if (ended && is_known(visitor->second.last))
    for (Part* const part : {&part_, &old_}) part->end(visitor->second.last.rank.value);
  if (node == host_) host_is_in_ = false;
  visitors_.erase(visitor);
}

void Regrouping::take_base(const LastRound& last) {
  base_ = last;
  part_ = old_ = {};
  stopping_.clear();
  behind_.clear();
  for (int rank = 0; rank < last.nnodes; ++rank) {
    if (host_ended_ && NodeRank(rank) == last.host) continue;
    part_.all.insert(rank);
    if (rank < last.old) old_.all.insert(rank);
  }
  old_.absent = last.missing;
  for (const auto& [node, visitor] : visitors_) count(node, visitor, 1);
}

// `by`: 1 or -1, to take that back.
void Regrouping::count(const NodeDesc& node, const Visitor& visitor, int by) {
  if (by < 0) {
    stopping_.erase(node);
    behind_.erase(node);
  } else if (!visitor.joins) {
    stopping_.insert(node);
  } else if (!is_known(visitor.last)) {
    behind_.insert(node);
  }
  if (!visitor.joins || !is_known(visitor.last)) return;
  const int rank = visitor.last.rank.value;
  const bool unnamed = rank == base_.nnodes;
  for (Part* const part : {&part_, &old_}) {
    if (unnamed) part->unnamed += by;
    if (!part->all.contains(rank)) continue;
    part->ended.erase(rank);
    mark(part->present, rank, by);
  }
}

// A member that did not hear of the base round, since its host ended while it told the members, is known by its name.
// If it is not in the line, it is known only to be one of those who were in the round before. If a host may have gone
// on without nodes that were silent, it may also be one of these: it does not count.
LastRound Regrouping::base_for(const NodeDesc& node) const {
  LastRound base = base_;
  base.rank = NodeRank::none();
  base.ended = {part_.ended.begin(), part_.ended.end()};
  const auto visitor = visitors_.find(node);
  if (visitor == visitors_.end()) return base;
  const LastRound& last = visitor->second.last;
  const bool was_in = last.rank.known() && last.round + 1 == base.round && last.term == base.term;
  if (was_in && limit_ == Duration::zero()) base.rank = NodeRank(base.nnodes);
  for (const Heir& heir : base_.line)
    if (heir.node == node) base.rank = heir.rank;
  return base;
}

bool Regrouping::may_form() const {
  if (!host_is_in_ || !stopping_.empty() || !behind_.empty() || !may_run(part_)) return false;
  const bool old_ones = old_.all.empty() && old_.absent == 0;
  if (!old_ones && !may_run(old_)) return false;
  return waited_ || arrived() >= awaited();
}

std::optional<Status> Regrouping::form(const Size& size, Time now) {
  if (given_up_ || !may_form()) {
    if (!given_up_ && (!waited_ || !stopping_.empty())) return std::nullopt;
    if (limit_ > Duration::zero() && !is_late_) return std::nullopt;
    given_up_ = limit_ > Duration::zero();
    return Error{ErrorCode::timeout, too_few(arrived(), awaited())};
  }
  if (size.joined >= size.fewest) return Status();
  if (limit_ > Duration::zero()) return std::nullopt;  // those who are cut off may come back
  more_until_ = std::min(more_until_, later(now, for_spares));
  if (now < more_until_) return std::nullopt;
  return Error{ErrorCode::timeout, fmt::format("{} of at least {} nodes are left", size.joined, size.fewest)};
}

Time Regrouping::deadline() const {
  if (!active()) return never;
  const Time until = waited_ ? late_until_ : wait_until_;
  return std::min(is_late_ ? never : until, passed_ ? never : more_until_);
}

void Regrouping::on_deadline(Time now) {
  waited_ = waited_ || now >= wait_until_;
  passed_ = passed_ || now >= more_until_;
  is_late_ = waited_ && now >= late_until_;
}

std::map<NodeDesc, int> Regrouping::ranks() const {
  std::map<NodeDesc, int> ranks;
  for (const auto& [node, visitor] : visitors_)
    if (is_known(visitor.last) && part_.all.contains(visitor.last.rank.value))
      ranks.emplace(node, visitor.last.rank.value);
  return ranks;
}

}  // namespace launch

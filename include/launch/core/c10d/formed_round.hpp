// What the members of a round that has formed must know about it. It is made once, and told to each. Used by
// Membership. Ranks never change while the round lasts: a member that has ended well and has left keeps its own. It
// knows no time and no connection.
#pragma once

#include "launch/core/c10d/attendance.hpp"

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace launch {

class FormedRound {
 public:
  FormedRound() = default;
  // `order`: its members by rank. `said_of`: what a node said last, or null.
  FormedRound(std::int64_t round, std::vector<NodeDesc> order,
              const std::function<const Attendance*(const NodeDesc&)>& said_of);

  // Only the order of members that were in a round of another store.
  explicit FormedRound(std::map<NodeDesc, int> ranks) : ranks_(std::move(ranks)) {}

  RoundFormed news_for(const NodeDesc& node) const;
  // How the job goes on if the host of its store ends. No line: some member cannot follow it.
  const LastRound& succession() const { return succession_; }
  LastRound succession_for(const NodeDesc& node) const {
    LastRound succession = succession_;
    succession.rank = rank_of(node);
    return succession;
  }
  bool leads_to(const NodeDesc& node) const;
  // The process of this member has ended.
  void end(const NodeDesc& node);
  // How often the store has moved; how many members were in the round before, and how many of those are missing.
  void set_past(int term, int old, int missing) {
    succession_.term = term;
    succession_.old = old;
    succession_.missing = missing;
  }
  // How many of `order`, which begins with them, are its members.
  int members_in(const std::vector<NodeDesc>& order) const;

  const std::vector<NodeDesc>& order() const { return order_; }
  const std::map<NodeDesc, int>& ranks() const { return ranks_; }
  // none: it is not a member.
  NodeRank rank_of(const NodeDesc& node) const;
  // Its place among nodes that want the next round: members come first.
  int place_of(const NodeDesc& node) const;
  bool is_mixed() const { return !torchrun_.empty(); }

  // Members that ended well and have left; they count as members until the round breaks up.
  void depart(const NodeDesc& node) { departed_.insert(node); }
  void come_back(const NodeDesc& node) { departed_.erase(node); }
  bool has_departed(const NodeDesc& node) const { return departed_.contains(node); }
  const std::set<NodeDesc>& departed() const { return departed_; }
  std::set<NodeDesc> take_departed() { return std::exchange(departed_, {}); }

 private:
  std::int64_t round_ = 0;
  std::vector<NodeDesc> order_;
  std::map<NodeDesc, int> ranks_;
  std::set<NodeDesc> departed_;
  std::vector<NodeRank> torchrun_;       // ranks of torchrun's agents
  std::vector<Assignment> assignments_;  // by rank; empty unless the workers of all are known
  int restarts_ = 0;                     // the most that a member knows of
  LastRound succession_;
};

}  // namespace launch

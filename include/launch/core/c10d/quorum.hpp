// Whether the host of a c10d job still has a majority, with --quorum=majority. Nodes that do not hear from the host any
// more may form another part of the job, with a host of their own; so a host that is cut off from them, or wakes late,
// must know that before they do. Two parts of a job never run at one moment, because of these rules:
// 1. A round is settled when all its members have said that they know it. Workers of a round start only then. Those who
//    go on with less must be enough by may_run() among the members of the last settled round, and of all that have
//    formed since; of two such parts, which have no node in common, one is enough at most.
// 2. A node was reached at the moment at which the host sent it something of which the host knows that it was read: the
//    beat that follows an answer is its receipt. The host answers a member only if enough of them were reached at a
//    moment that is no older than LeasePlan::answers. What it must not answer it holds back, its own agent's requests,
//    too: so all of them fall silent together, and end their workers by the rules of rendezvous/liveness. A host that
//    stood still itself has nothing that was read lately. It tells those who beat to wait, and they say at once that
//    they have read that, which does not count as an answer for them.
// 3. A node that has not heard from its host for LeasePlan::others may be counted by another one. By then a host that
//    needed it has answered nobody for so long that all workers of that part have ended.
//
// Pure: time comes in, and all of it is of the host's clock. It counts launch agents only: once a round with torchrun's
// is settled there is no quorum. A message costs O(1) mostly, O(n log n) a few times in each interval. Used by
// Membership.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/c10d/succession.hpp"

#include <map>
#include <set>
#include <vector>

namespace launch {

// Before anything that a clock of this process has shown.
inline constexpr Time long_ago = Time();

// The members of a round, of whom a part must have enough to go on.
class Electorate {
 public:
  Electorate() = default;
  explicit Electorate(const std::vector<NodeDesc>& by_rank);
  // Not all members of `all` have a name in `ranks`.
  Electorate(std::map<NodeDesc, int> ranks, Part all);

  bool empty() const { return part_.all.empty() && part_.absent == 0; }
  bool has(const NodeDesc& node) const { return ranks_.contains(node); }
  // It may count elsewhere, and never again here.
  void disown(const NodeDesc& node) { ranks_.erase(node); }
  const std::map<NodeDesc, int>& ranks() const { return ranks_; }
  // It has left while it was at this store, or its process has ended, so it has not been in another part, and never
  // will be: it does not count, and nobody counts it elsewhere.
  void end(const NodeDesc& node);
  // Whether those of `present` that are in it are enough.
  bool may_run(const std::vector<const NodeDesc*>& present) const;
  // How many of `order`, which begins with them, are in it, and how many others may live.
  int begins(const std::vector<NodeDesc>& order) const;
  int without(int present) const;
  // The latest moment at which those reached since were enough; long_ago: they never were. `reached`: by node, when it
  // was reached last.
  Time enough_since(const std::map<NodeDesc, Time>& reached) const;

 private:
  std::map<NodeDesc, int> ranks_;
  Part part_;  // nobody is present in it
};

class Quorum {
 public:
  // `lease`: as LeasePlan::answers. Zero: there is no such rule.
  void set_lease(Duration lease) { lease_ = lease; }
  bool on() const { return lease_ > Duration::zero(); }

  // ---- rounds

  // The job was at another store: nothing was settled here, but its last round has these members.
  void take_over(Electorate last);
  // With torchrun's agents the host decides alone as soon as all launch agents know the round.
  void form(const std::vector<NodeDesc>& by_rank, Time now);
  // This member knows the round that has formed last. True: it is settled now.
  bool knows_round(const NodeDesc& node);
  void end(const NodeDesc& node);
  // It has been at another store meanwhile, and is a new node for this one.
  void disown(const NodeDesc& node) {
    last_.disown(node);
    for (Electorate& one : since_) one.disown(node);
  }
  // Whether these nodes may form a round.
  bool may_form(const std::vector<const NodeDesc*>& present) const;
  // How many members of the last settled round there are in `order`, which begins with them; and how many of it may
  // live elsewhere.
  struct Past {
    int old = 0, missing = 0;
  };
  Past past_of(const std::vector<NodeDesc>& order) const;
  // How long they may at most be too few before this host gives up: then others have gone on, or never will.
  Duration patience() const { return lease_ * leases_of_patience; }
  // How long a member may have workers whose connection has ended, but whose process may not have.
  Duration silence() const { return lease_ * leases_of_silence; }

  // ---- messages

  // `node` is the agent of this process: what it is told is read.
  void set_self(const NodeDesc& node) { self_ = node; }
  // It speaks on another connection than before.
  void connect(const NodeDesc& node) { answered_.erase(node); }
  // A beat of it has come, or it says that it has read what it was told before.
  void beat(const NodeDesc& node);
  // It was answered at `now`, or told to wait.
  void answer(const NodeDesc& node, Time now);
  // How often those who must wait are told so again.
  Duration between_words() const { return lease_ / 3; }
  // Whether `node`, which asks at `now`, may be answered: one that is no member always may.
  bool may_answer(const NodeDesc& node, Time now);
  // Whether members may.
  bool has_enough(Time now);

 private:
  static constexpr int leases_of_patience = 14;  // two time-outs in a small job
  static constexpr int leases_of_silence = 6;    // after which no member that is lost has workers
  Time enough_since(Time now);
  bool is_member(const NodeDesc& node) const;

  Duration lease_{};
  NodeDesc self_;
  Electorate last_;                // members of the last settled round
  std::vector<Electorate> since_;  // of those that have formed since
  std::set<NodeDesc> unaware_;     // of the round that has formed last
  std::map<NodeDesc, Time> answered_, reached_;
  Time formed_at_{};
  bool alone_ = false;  // the host decides, once that round is settled
  bool runs_ = false;   // a round of this store is settled, so there may be workers
  Time enough_since_ = long_ago;
  Time look_again_ = long_ago;
};

}  // namespace launch

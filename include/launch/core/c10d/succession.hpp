// What happens to a c10d job of launch nodes when the agent that hosts its store has ended. Each round has a line: its
// first members in the order of their ranks, and the doors (address and port) at which each of them would host the
// store. The first of the line that lives does so, with a higher term, and the others come to it. So that no two parts
// of a job ever run at once, a part that lacks nodes may run only under one rule, which is here: may_run().
//
// Pure values. Membership uses Regrouping; ElasticStore walks along the line. Nothing here knows a clock or a link, and
// nothing decides whether a host has ended.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/job/node_desc.hpp"
#include "launch/core/job/rank.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace launch {

// A member of a round that can host the store, and where.
struct Heir {
  NodeRank rank{};
  NodeDesc node;
  Endpoint door;

  bool operator==(const Heir&) const = default;
};

inline constexpr std::size_t most_heirs = 8;

// What a node must know of the last round to go on without the host of its store.
struct LastRound {
  int term = 0;                      // how often the store had moved when the round formed
  std::int64_t round = -1;           // -1: none has formed
  int nnodes = 0;                    // members
  NodeRank rank = NodeRank::none();  // of this node; none: it is not a member
  NodeRank host = NodeRank::none();  // of the node that hosts the store; none: it is not a member
  NodeDesc host_node{};              // an empty `addr`: it is not known
  std::vector<Heir> line{};          // without the host; empty: the job cannot go on without that

  bool operator==(const LastRound&) const = default;
};

// What a node that comes to the next host knows and wants.
struct Comeback {
  LastRound last;
  int term = 0;                   // of the store that it comes to
  std::vector<NodeRank> ended{};  // members whose process is proven to have ended
  // Of the next host only: after this time no member that it has not heard of has workers any more; zero: it may have
  // them for ever.
  Duration wait{};

  bool operator==(const Comeback&) const = default;
};

// Members of the last round, by rank, without its host.
struct Part {
  std::set<int> all;
  std::set<int> ended;    // proven: by the kernel of their machine
  std::set<int> present;  // none of them is in `ended`
};

// Whether those who are present may run without the others: if nobody else can live, or if they are more than half of
// all, or exactly half of them with the lowest rank. Nodes that have ended count here: before their end they may have
// been in another part that runs without them now. So of two parts that have no node in common one may run at most.
bool may_run(const Part& part);

// The nodes that come to a store after the host of the last one has ended, until a round may form. All of them, or all
// but those that are proven to have ended, form it at once. If others are missing, it waits until their workers must
// have been stopped, and asks may_run().
class Regrouping {
 public:
  // `joins`: its workers have ended. `hosts`: it hosts this store.
  struct Visit {
    NodeDesc node;
    bool joins = false;
    bool hosts = false;
  };
  void hear(const Visit& visit, const Comeback& comeback, Time now);
  // Its connection has ended.
  void lose(const NodeDesc& node);

  bool may_form() const;
  // They may form a round, but are fewer than it needs. Others, such as spares, have some time to come, from the first
  // call on. False: that is over.
  bool wait_for_more(Time now);
  // When on_deadline() must be called, after which may_form() and wait_for_more() may have changed.
  Time deadline() const { return std::min(waited_ ? never : wait_until_, passed_ ? never : more_until_); }
  void on_deadline(Time now);

  int term() const { return term_; }
  const LastRound& base() const { return base_; }
  // Of the members that have come, in the base round.
  std::map<NodeDesc, int> ranks() const;
  int arrived() const { return static_cast<int>(part_.present.size()); }
  int awaited() const { return static_cast<int>(part_.all.size() - part_.ended.size()); }

 private:
  struct Visitor {
    std::int64_t round = -1;
    NodeRank rank{};
    bool joins = false;
  };
  void take_base(const LastRound& last);
  int rank_of(const NodeDesc& node, const Visitor& visitor) const;  // -1: it was not a member
  void count(const NodeDesc& node, const Visitor& visitor);

  LastRound base_;  // the latest round that a visitor knows
  int term_ = 0;
  std::map<NodeDesc, Visitor> visitors_;
  Part part_;               // `present` has those that have joined
  std::set<int> stopping_;  // members that are here, and whose workers may still run
  bool host_is_in_ = false;
  NodeDesc host_;
  Time wait_until_ = never;  // then no member that is missing has workers
  bool waited_ = false;
  Time more_until_ = never;
  bool passed_ = false;
};

}  // namespace launch

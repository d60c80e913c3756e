// What happens to a c10d job of launch nodes when the agent that hosts its store has ended. Each round has a line: its
// first members in the order of their ranks, and the doors (address and port) at which each of them would host the
// store. The first of the line that can be reached does so, with a higher term, and the others come to it.
//
// Two parts of a job never run at one moment, whatever is cut off from what, because of five rules:
// 1. Only a closed connection proves an end: a kernel closes a connection in order when its process ends. A host that
//    lives and gives up a node resets all its connections instead. A refused connection proves nothing; such members
//    count as possibly alive.
// 2. A part needs may_run() among the members of the last round that one of it knows, and also among those who were in
//    the round before. Nodes that know only that one then cannot be a part of their own.
// 3. What is older has no say: a host forms a round after all members of the one before have come to know that, or are
//    lost to it for good. A node that a host has given up forgets its line. With --quorum=majority it need not, and a
//    member that has missed a round and is not in the line does not count (core/c10d/quorum).
// 4. A part that lacks members forms a round only when the workers of these must have ended. Those of a node that saw
//    the host's end may run for grace_after_host() from then on, or less if it stood still before; wait_after_host() is
//    over later (core/rendezvous).
//    It begins again when a node comes that was at a later store, since that has ended only now.
// 5. Workers of a round start only if its host lives on after it has told all members of the round. So no node that has
//    not heard of that round can come back while its workers run.
//
// Pure values. Membership uses Regrouping; ElasticStore walks along the line. Nothing here knows a clock or a link, and
// nothing decides whether a host has ended.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/job/node_desc.hpp"
#include "launch/core/job/rank.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace launch {

// Where an agent would host the store, and the name of that store: no other one has it, not even a later one at the
// same address.
struct StoreDoor {
  Endpoint at{};  // port 0: it would not
  std::string store{};

  bool operator==(const StoreDoor&) const = default;
};

// A member of a round that can host the store, and where.
struct Heir {
  NodeRank rank{};
  NodeDesc node;
  StoreDoor door;

  bool operator==(const Heir&) const = default;
};

inline constexpr std::size_t most_heirs = 8;

// What a node must know of the last round to go on without the host of its store. Of two rounds the one of the later
// store is later, and of one store the one with the higher number.
struct LastRound {
  int term = 0;                      // how often the store had moved when the round formed
  std::int64_t round = -1;           // -1: none has formed
  int nnodes = 0;                    // members
  NodeRank rank = NodeRank::none();  // of this node; none: it is not a member; `nnodes`: it is, but has not been told
  NodeRank host = NodeRank::none();  // of the node that hosts the store; none: it is not a member
  NodeDesc host_node{};              // an empty `addr`: it is not known
  std::string store{};               // its name
  int old = 0;                       // members with lower ranks than this were members of the round before
  int missing = 0;                   // how many of that one may live and know only that
  std::vector<Heir> line{};          // without the host; empty: the job cannot go on without that
  std::vector<NodeRank> ended{};     // members whose processes have ended since, as far as the host knows

  bool operator==(const LastRound&) const = default;
  bool is_after(const LastRound& other) const { return std::tie(term, round) > std::tie(other.term, other.round); }
  bool is_same(const LastRound& other) const { return term == other.term && round == other.round; }
  // Its members know it, and so nobody who knows only the round before can go on.
  void settle() { old = missing = 0; }
};

// Adds the members that have ended as `last` says, which is of the same round.
void add_ended(std::vector<NodeRank>& ended, const LastRound& last);

// What a node that comes to the next host knows and wants.
struct Comeback {
  LastRound last;
  int term = 0;                   // of the store that it comes to
  int left = 0;                   // of the one that it was at, and that has ended
  std::vector<NodeRank> ended{};  // members whose process is proven to have ended, but for the host of the round
  Duration wait{};  // after that no member that has not come has workers any more; zero: it may have them for ever
  // With --quorum=majority: how long a node waits at most after its host has fallen silent. Zero: without.
  Duration limit{};
  bool host_ended = true;  // that of the round, as is proven; without --quorum=majority nobody comes back before

  bool operator==(const Comeback&) const = default;
};

// Where a job lives whose store has moved, and how often it has.
struct MovedJob {
  NodeDesc host{};
  StoreDoor door{};
  int term = 0;

  bool operator==(const MovedJob&) const = default;
};

// Whether the job of a store that has moved `term` times gives way to `other`, which has the same id: a launch that was
// started again at the address of the first store has founded it, since it did not know that the job lives elsewhere.
// The younger one gives way. Of two that are as old none does.
bool gives_way(int term, const MovedJob& other);

// Members of a round, by rank; without its host if that has ended.
struct Part {
  std::set<int> all;
  std::set<int> ended;    // proven: by the kernel of their machine
  std::set<int> present;  // none of them is in `ended`
  int unnamed = 0;        // present, too, but nobody knows their ranks
  int absent = 0;         // of all, but nobody knows their ranks

  // Nothing if it may be that of a member whose rank nobody knows.
  std::optional<int> lowest() const { return all.empty() || absent > 0 ? std::optional<int>() : *all.begin(); }
  void end(int rank) {
    if (all.contains(rank) && !present.contains(rank)) ended.insert(rank);
  }
};

// Whether those who are present may run without the others: if nobody else can live, or if they are more than half of
// all, or exactly half of them with the lowest rank. Nodes that have ended count here: before their end they may have
// been in another part that runs without them now. So of two parts that have no node in common one may run at most.
bool may_run(const Part& part);

// The same, of counts. `ended`: of those who are not here.
bool is_enough(int here, int ended, int all, bool with_lowest);

// Why a part may not run.
std::string too_few(int arrived, int awaited);

// The nodes that come to a store after the host of the last one has ended, until a round may form. If all have come,
// but for those that are proven to have ended, they form it at once. If others are missing, it waits until their
// workers must have ended.
class Regrouping {
 public:
  // `joins`: its workers have ended. `hosts`: it hosts this store.
  struct Visit {
    NodeDesc node;
    bool joins = false;
    bool hosts = false;
  };
  // No `comeback`: it comes from no other store.
  void hear(const Visit& visit, const std::optional<Comeback>& comeback, Time now);
  // Its connection has ended. `ended`: its process has, too.
  void lose(const NodeDesc& node, bool ended);

  // Rounds may form by the rules here only. Not so if the host of this store comes from no other one.
  bool active() const { return !fresh_ && !visitors_.empty(); }
  // Nobody who comes from another store hosts this one, and perhaps nobody ever will: visitors decide nothing here.
  bool lacks_host() const { return active() && host_.addr.empty(); }
  // Those who know an older round than the base: they must learn that before a round forms.
  const std::set<NodeDesc>& behind() const { return behind_; }
  LastRound base_for(const NodeDesc& node) const;
  // How long it waits at most for members that have not come; nothing: without limit.
  std::optional<Duration> patience(Time now) const {
    if (wait_until_ == never) return std::nullopt;
    return std::max<Duration>(wait_until_ - now, Duration::zero());
  }
  struct Size {
    int joined = 0, fewest = 0;
  };
  // Whether those who have come may go on without the others.
  bool may_form() const;
  // Whether those who have joined form a round now; nothing: they wait for others. If they may, but are fewer than it
  // needs, others, such as spares, have some time to come. An error: it has become clear that they never will.
  std::optional<Status> form(const Size& size, Time now);
  // When on_deadline() must be called, after which what the others say may have changed.
  Time deadline() const;
  void on_deadline(Time now);

  int term() const { return term_; }
  const LastRound& base() const { return base_; }
  // Of the members that have come, in the base round.
  std::map<NodeDesc, int> ranks() const;
  int arrived() const { return static_cast<int>(part_.present.size()) + part_.unnamed; }
  int awaited() const { return static_cast<int>(part_.all.size() - part_.ended.size()); }
  int missing() const { return awaited() - static_cast<int>(part_.present.size()); }
  // All members of the base round, as far as they are known.
  Part members() const { return part_; }

 private:
  struct Visitor {
    LastRound last;  // without its line
    bool joins = false;
  };
  void take_base(const LastRound& last);
  void wait_again(const Comeback& comeback, Time now);
  void wait_for_silent(const Comeback& comeback, Time now);
  void learn_end_of_host();
  bool is_known(const LastRound& last) const { return last.is_same(base_); }
  void count(const NodeDesc& node, const Visitor& visitor, int by);

  LastRound base_;  // the latest round that a visitor knows
  int term_ = 0;
  int left_ = -1;  // the latest store that a visitor was at
  std::map<NodeDesc, Visitor> visitors_;
  Part part_, old_;  // of the base round, and of the round before; those who have joined are present
  std::set<NodeDesc> behind_;
  std::set<NodeDesc> stopping_;  // they are here, but their workers may still run
  bool fresh_ = false;
  bool host_is_in_ = false;
  NodeDesc host_;
  Time wait_until_ = never;  // then no member that is missing has workers
  bool waited_ = false;
  Time more_until_ = never;
  bool passed_ = false;
  bool host_ended_ = true;  // that of the base round
  // With --quorum=majority others may come a little later than the wait ends.
  Duration limit_{};
  Time late_until_ = never;
  bool is_late_ = false;
  bool given_up_ = false;  // who has been told that no round forms may be anywhere
};

}  // namespace launch

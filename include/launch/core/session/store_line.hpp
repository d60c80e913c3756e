// Where a node finds the store of its c10d job when the host of that has ended: it opens a door of its own when it
// joins, learns the line of each round, and walks along that line when it must (core/c10d/succession). Used by
// ElasticStore, which must outlive its talks. It never judges a host that is only silent: such a host may live.
#pragma once

#include "launch/core/c10d/hosted_rendezvous.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/session/store_link.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class StoreLine {
 public:
  StoreLine(Stage& stage, const Config& config) : stage_(stage), config_(config) {}

  // This node's door, at `address`, if the job can go on without its host and it has none yet.
  Talk<void> open_door(std::string address);
  void learn(const ElasticNews& news);

  // The host of the store may end: others can take its place.
  bool leads_on() const { return !last_.line.empty(); }
  const LastRound& last() const { return last_; }
  bool comes_back() const { return comes_back_; }
  int term() const { return term_; }  // of the store that find_next() has found
  // What the store must know of this node.
  HostedRendezvous::Seat seat(bool hosts) const;

  // Whether nothing listens at `store` any more; the answer comes at once, or until `by`.
  Talk<bool> is_gone(Endpoint store, Time by);

  struct Next {
    Heir heir;
    bool here = false;                // it is this node, whose door is open
    std::optional<StoreLink> link{};  // otherwise
  };
  // The first of the line that is not proven to have ended, or that says nothing for long; this node itself at the
  // latest, if it is in the line. An error: nobody is left.
  Talk<Result<Next>> find_next(NodeDesc self, Time give_up);

  // Looks again and again which members have ended, until a round has formed; tells each that it finds.
  Talk<void> watch_doors(NodeDesc self, std::function<void(std::vector<NodeRank> ended)> on_ended);

 private:
  Talk<Status> knock(Endpoint door, Time by);
  Talk<Result<StoreLink>> reach(Endpoint door, Time by);
  bool has_ended(NodeRank rank) const;

  Stage& stage_;
  const Config& config_;
  Endpoint door_;
  LastRound last_;
  int term_ = 0;             // of the store that this node has come to
  bool comes_back_ = false;  // since the last host has ended no round has formed
  std::vector<NodeRank> ended_;
};

}  // namespace launch

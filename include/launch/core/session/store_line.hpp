// Where a node finds the store of its c10d job when the host of that has ended: it opens a door of its own when it
// joins, learns the line of each round, and walks along that line when it must (core/c10d/succession). Used by
// ElasticStore, which must outlive its talks. It never judges a host that is only silent: such a host may live. It
// never takes another store for the one that it looks for: each has a name. Without --quorum it learns no line.
#pragma once

#include "launch/core/c10d/hosted_rendezvous.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/session/host_witness.hpp"
#include "launch/core/session/store_link.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class StoreLine {
 public:
  StoreLine(Stage& stage, const Config& config);

  // Of the store that this node hosts, or would host.
  const std::string& name() const { return door_.store; }
  // The door of this node, `own`, at `address`, if the job can go on without its host and it has none yet. `listed`:
  // places of --rdzv-endpoint that are this node's; the door is at the port of one of these if it is free.
  Talk<void> open_door(NodeDesc own, std::string address, std::vector<Endpoint> listed);
  std::uint16_t door_port() const { return door_.at.port; }
  // Where the job may be, for others, as far as this node knows. REQUIRES: knows_places().
  MovedJob last_place() const { return {last_.host_node, places_.front(), last_.term}; }
  // Where the job is, for others: its store is at `store`, which is not this node's.
  MovedJob there(const Endpoint& store) const {
    return {host_ ? host_->node : last_.host_node, {store, name_of_last()}, comes_back_ ? term_ : last_.term};
  }
  // `store`: where the store is that tells it.
  void learn(const ElasticNews& news, const std::optional<Endpoint>& store);
  // The others may have gone on without this node: it must not, without them.
  void forget();
  // It has left a store of the job, and comes to `job`: as a member of the last round if that host was in its line, and
  // as a new node if not, or if a round has formed there.
  void come_to(const MovedJob& job, Time left);
  void come_anew() {
    forget();
    moved_.reset();
    anew_ = true;
  }
  // The store that this node hosts has ended: the next one has another name, and no door yet.
  void begin_anew();

  // A majority decides who goes on: a host that is only silent is left.
  bool is_by_majority() const { return serves_majority(config_); }
  bool knows_places() const { return !places_.empty(); }
  // When the last host was heard last, or was known to have ended.
  void note_heard(Time when) { heard_at_ = std::max(heard_at_, when); }
  // The host of the store may end: others can take its place.
  bool leads_on() const { return !last_.line.empty(); }
  const LastRound& last() const { return last_; }
  // Members of it that have ended, its host among them.
  std::size_t ended() const { return ended_.size() + static_cast<std::size_t>(comes_back_ && host_ended_); }
  bool comes_back() const { return comes_back_; }
  int term() const { return term_; }  // of the store that find_next() has found
  // Where that is, if it is this node, `self`, that hosts it.
  MovedJob here(const NodeDesc& self) const { return {self, door_, term_}; }
  // What the store must know of this node.
  HostedRendezvous::Seat seat(bool hosts) const;

  // Once the host, whose store is there, knows this node.
  void watch_host(Endpoint store, NodeDesc self);
  void forget_host() { witness_.forget(); }
  // Whether the process at the other side of `link`, which is closed, has ended, as far as is known at `by`. Not if the
  // connection was reset: a host that lives does that when it gives up this node, and so does a firewall. But so does
  // the kernel of a process that has ended if something on the connection was not read: then the witness knows.
  Talk<bool> has_ended(const StoreLink& link, Time by);

  // The host has closed its connection to this node, which was at `store`. Whether that is gone: nothing listens there
  // any more, or it is another store. The answer comes soon, or at `by`.
  Talk<bool> is_gone(Endpoint store, Time by);
  // Whether `link` leads to the store of the last round; if that is not known, it does.
  Talk<bool> is_same(StoreLink& link, Time by);

  struct Next {
    Heir heir;
    bool here = false;                // it is this node, whose door is open
    std::optional<StoreLink> link{};  // otherwise
  };
  // The first of the line that answers; this node itself at the latest, if it is in the line. An error: nobody is left,
  // or can be reached before `give_up`.
  struct Leaver {
    NodeDesc node;
    bool host_ended = false;  // its kernel has said so
  };
  Talk<Result<Next>> find_next(Leaver self, Time give_up);
  // Where the job of the last round is now, which may have gone on without this node: its host was there, or its next
  // one would be. It looks again and again. An error: it has found none before `give_up`.
  Talk<Result<StoreLink>> find_job(NodeDesc self, Time give_up);

  // This node has come to the store of `heir`. The user hears of that when enough have come there: until then that
  // node, too, may end. `first`: where the store was first.
  void settle_at(const Heir& heir, const Endpoint& first);

  // The store behind this door. An error: nobody is there, or another store, or it cannot be reached before `by`.
  Talk<Result<StoreLink>> reach(StoreDoor door, Time by);

 private:
  bool may_move() const { return config_.c10d()->host_moves && goes_on_without_a_node(config_); }
  std::string new_name() const;
  Talk<Result<bool>> has_name(StoreLink& link, std::string name, Time by);
  const std::string& name_of_last() const;
  Talk<std::optional<StoreLink>> find_job_at(StoreDoor place, NodeDesc self, Time by);
  std::string places() const;
  void leave_last(bool host_ended);
  void know_places(const std::optional<Endpoint>& store);
  void tell_of_move();

  Stage& stage_;
  const Config& config_;
  StoreDoor door_;
  LastRound last_;
  std::optional<Heir> host_{};   // of the store that this node has come to since the last round
  int term_ = 0;                 // of that
  int left_ = 0;                 // of the store before
  bool comes_back_ = false;      // since the last host has ended no round has formed
  std::vector<NodeRank> ended_;  // of the last round, but for its host
  bool anew_ = false;            // as in Attendance
  bool host_ended_ = true;       // that of the last round; else it may be alive
  Time heard_at_{};
  std::vector<StoreDoor> places_;   // where the job may be, since it was there or would go there
  std::optional<HostMoved> moved_;  // until the user hears of it
  HostWitness witness_;
};

}  // namespace launch

// What a node of a c10d job does when it has lost the store of its job: it comes back to it, follows it to its next
// host, gives way to an elder job, or looks for the part of the job that runs without it. Used by ElasticStore, which
// shares its place with it. It never starts a round, and never says that the store is lost: ElasticStore does if all
// was in vain.
//
// Three cases. The process that hosted the store has ended, as is proven: the next one of the line hosts it. It is only
// silent, or has reset the connection: with --quorum=majority it is left all the same, since it may be alone, and this
// node is counted by the next one a little later (core/c10d/quorum). A part of the nodes that are too few: with
// --quorum=majority each of them comes to the others as a new node, as soon as it finds them.
#pragma once

#include "launch/core/base/announcer.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/rendezvous/liveness.hpp"
#include "launch/core/session/store_line.hpp"
#include "launch/core/session/store_link.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace launch {

// Whom ElasticStore and HostSearch tell.
class StoreOwner {
 public:
  virtual void on_news(ElasticNews news) = 0;
  virtual void on_other_store() = 0;          // what a round of the last store has begun is void
  virtual void on_no_store(Error error) = 0;  // no store was found
  // The link has ended; it is not known yet whether the store is gone. `silent`: the store has said nothing for long.
  virtual void on_doubt(bool silent) = 0;
  virtual void on_lost(Error error) = 0;  // the store is lost
  // The store is there, but has taken this node for dead; this node may join again.
  virtual void on_expelled() = 0;
  // This node leaves the host of the store for the next one. `workers`: how long its workers may still run; nothing: it
  // waits for a round, and has none. `ended`: the process of the host has, as is proven.
  virtual void on_host_gone(const LastRound& last, std::optional<Duration> workers, bool ended) = 0;
  // The job lives elsewhere, and this node joins it there. `waits`: it has no workers.
  virtual void on_elder(const MovedJob& job, bool waits) = 0;
  // False: the job has ended, as far as this node is concerned. The second one hears first what the host has said last.
  virtual bool goes_on() const = 0;
  virtual Talk<bool> still_goes_on() = 0;

 protected:
  ~StoreOwner() = default;
};

// What the owner wants of the store.
struct StoreWants {
  bool in = false;  // a round
  bool leaving = false;
  bool ending = false;
  bool formed = false;  // at least one round has formed

  bool parts() const { return leaving || ending; }
};

// Where the store of the job is, and what this node has of it.
struct StorePlace {
  bool hosts = false;
  bool could_host = false;      // the endpoint leads here
  Endpoint store;               // where it is, as far as that is known
  std::uint16_t port = 0;       // where the store of this node listens
  std::string address{};        // this node's, for the others
  std::vector<Endpoint> own{};  // places that --rdzv-endpoint lists and that are this node's
  bool by_launch = false;       // a launch agent hosts the store
  std::optional<Endpoint> reached{};
  std::optional<StoreLink> link{};
  // The link before, if it fell silent: closing it would tell the store that this node's workers are gone.
  std::optional<StoreLink> last_link{};
  Time give_up{};  // when to give up looking for the store
  Time connected{};
  StoreWants wants{};
};

class HostSearch {
 public:
  // All of them must outlive it.
  HostSearch(Stage& stage, const Config& config, StorePlace& place, StoreOwner& owner);

  enum class Way {
    as_ever,  // there is nothing that it could do
    followed,
    in_vain,  // it tried, or the job goes on without this node
  };
  // The link has ended because of `lost`. `waits`: this node has no workers.
  Talk<Way> go_on(Error lost, bool waits);
  // Waits while it finds out whether the process that hosted the store has ended. If it has, and another one can
  // follow, the owner hears of that before.
  Talk<void> found_out();
  // Looks for nobody any more.
  void end() { scope_.give_up(); }

  // What the store tells. True: the owner must not hear of it, since this node leaves the store because of leaves().
  bool hear(const ElasticNews& news);
  const std::optional<Error>& leaves() const { return leaves_; }

  // Says, from time to time, why the store cannot be reached.
  void announce(Announcer& announcer, const Error& reason) const;
  StoreLine& line() { return line_; }
  const StoreLine& line() const { return line_; }
  const Heartbeat& heartbeat() const { return heartbeat_; }
  // How long workers may run now that the host, which may live, is lost.
  Duration grace() const;
  Duration longest_stall() const { return heartbeat_.patience + heartbeat_.grace; }
  NodeDesc self() const;
  std::string address_to_others() const;
  void take(StoreLink link) {
    line_.forget_host();
    place_.link.reset();
    place_.link.emplace(std::move(link));
    place_.connected = stage_.moment();
  }
  // No worker is left.
  void forget_last_link() {
    if (place_.last_link && line_.is_by_majority()) place_.last_link->abandon();
    place_.last_link.reset();
  }
  // What this node hosts, or would host, ends: its store is as new, without a door.
  void begin_anew();

 private:
  Talk<bool> come_back(bool was_silent);
  Talk<Result<StoreLink>> connect_again();
  bool may_have_ended(const Error& lost) const;
  bool may_leave_silent_host(const Error& lost) const;
  Talk<Way> find_out(bool waits);
  Talk<Way> follow(bool waits);
  Talk<Way> leave_silent_host(bool waits);
  Talk<Way> look_for_next(bool host_ended);
  Talk<Way> seek(bool waits);
  Talk<Way> give_way(bool waits);
  Talk<void> abandon_store();
  void leave_link(bool waits);
  Duration grace_after_end() const;
  bool was_in_touch() const;
  Duration patience_with_host() const {
    const bool hurries = config_.heartbeat_timeout > Duration::zero();
    return hurries ? config_.heartbeat_timeout : choice_.settings.join_timeout;
  }
  void settle_at(StoreLine::Next next);
  void move_to(StoreLink link, Endpoint store);
  void tell_at_old_address();
  bool is_own_door(const Endpoint& place) const;
  Talk<void> keep_door();

  Stage& stage_;
  const Config& config_;
  const C10dChoice& choice_;
  StorePlace& place_;
  StoreWants& wants_;  // of the place
  StoreOwner& owner_;
  Heartbeat heartbeat_;
  StoreLine line_;
  bool watches_ = false;    // the old address
  bool finds_out_ = false;  // whether the host has ended
  bool missed_ = false;     // a round may have formed without this node, which has not heard of it
  Bell found_out_;
  std::optional<Error> leaves_;      // why this node leaves the store, though it answers
  std::optional<MovedJob> elder_;    // the job that this one gives way to
  std::optional<Time> seeks_until_;  // it belongs to no part of the job
  Scope scope_;
};

}  // namespace launch

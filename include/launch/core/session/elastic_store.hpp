// A node's part in the shared state of its c10d job. It hosts the store if the endpoint leads here (of several that are
// listed, the first, if the others know of no job), connects, chooses the machine that suits the store, and carries it
// out round after round. It tells what it learns to its owner, ElasticSession, which must outlive it. It never starts a
// round by itself: the owner decides what rounds mean.
#pragma once

#include "launch/core/c10d/elastic_machine.hpp"
#include "launch/core/c10d/hosted_rendezvous.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/session/host_search.hpp"
#include "launch/core/session/listed_places.hpp"
#include "launch/core/session/store_link.hpp"
#include "launch/core/store/keys.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace launch {

class ElasticStore {
 public:
  using Owner = StoreOwner;

  // All references must outlive the object.
  ElasticStore(Stage& stage, const Config& config, const C10dChoice& choice, Owner& owner);

  // Opens the listener, if this node is told to host the store.
  Talk<Status> open();

  // The wishes for the machine. The first join() connects first, and hosts the store if the endpoint leads here.
  void join(bool admits, int restarts);
  void leave(std::string reason) {
    place_.wants.leaving = true;
    done_ = machine_ == nullptr;
    if (machine_) machine_->leave(stage_.moment(), std::move(reason));
    wake();
  }
  void close() {
    done_ = machine_ == nullptr;
    if (machine_) machine_->close(stage_.moment());
    wake();
  }
  // Leaves with the store what it must do when this node is lost without a word; then WillLeft comes. False: this store
  // keeps no wills.
  bool pledge(LeaveWill will) {
    if (!place_.by_launch) return false;
    will_stands_ = false;  // that was about an earlier will
    if (hosted_ != nullptr) hosted_->pledge(std::move(will));
    wake();
    return true;
  }
  // This node's workers have ended well: from now on its loss harms nobody, and its will is `then`.
  void finish(LeaveWill then) {
    if (hosted_ != nullptr) hosted_->finish(std::move(then));
    wake();
  }

  // This node could not tell the others of its end: its will must tell them when the store loses this node.
  void let_will_stand() { will_stands_ = true; }

  // After leave() or close(): waits until that is done, or until the deadline. Nothing is told any more.
  Talk<void> end(Time deadline);
  // The last call: takes the will back, unless it must stand, and closes the links. The store knows that all is well.
  void part() {
    search_.line().forget_host();
    for (auto* link : {&place_.link, &place_.last_link}) {
      if (*link && place_.by_launch && !will_stands_) (*link)->part();
      link->reset();
    }
  }

  // As in HostSearch.
  Talk<void> found_out() { co_return co_await search_.found_out(); }

  bool hosts() const { return place_.hosts; }
  bool is_moving() const { return search_.line().comes_back(); }  // since its last host has ended no round has formed
  // Another node can host the store when the host has ended.
  bool can_move() const { return search_.line().leads_on(); }
  // Members of the last round, as far as they have not ended.
  int left_of_last_round() const {
    const LastRound& last = search_.line().last();
    return last.nnodes - static_cast<int>(search_.line().ended());
  }
  bool has_begun() const { return machine_ != nullptr; }  // to take part, in the rendezvous of a store
  bool is_by_launch() const { return place_.by_launch; }  // a launch agent hosts the store, so the store knows wills
  // How long this node may stall before others may go on without it; zero: for ever.
  Duration longest_stall(bool with_launch_agents) const;
  // As in Round.
  Duration longest_silence() const {
    return serves_majority(config_) ? longest_unanswered(config_.heartbeat_timeout, choice_.settings.nodes.max)
                                    : Duration::zero();
  }
  // How long workers may run once this node has lost patience with a store of launch.
  Duration grace() const { return search_.grace(); }
  // The store's address, once it has answered, and this node's address, for the workers of other nodes.
  const std::optional<Endpoint>& reached() const { return place_.reached; }
  const std::string& address() const { return place_.address; }

 private:
  Talk<void> run();
  Talk<Result<StoreLink>> look_for_store(Endpoint endpoint);
  Talk<Result<StoreLink>> look_in_row(std::function<void(const Error&)> on_retry);
  Talk<Result<StoreLink>> look_in_list();
  Talk<Status> try_to_found();
  void announce_list(Time founds_at);
  void point();
  // So that nodes of this job know the store for theirs, and those of others do not.
  Talk<void> claim() {
    if (place_.hosts && !choice_.ports.empty())
      (void)co_await place_.link->set(claim_key(config_.run_id, 0), "host", place_.give_up);
  }
  Talk<bool> connect();
  Talk<bool> look_again(Error lost);
  Talk<void> find_out_who_hosts();
  Talk<void> try_to_host();
  Talk<Status> choose_machine();
  Talk<Error> pursue();
  Talk<Result<Outcome>> perform(Operation next);
  void take(ElasticNews news);
  void wake() {
    if (place_.link) place_.link->wake();
  }

  Stage& stage_;
  const Config& config_;
  const C10dChoice& choice_;
  Owner& owner_;
  StorePlace place_;
  HostSearch search_;
  ListedPlaces listed_;
  std::unique_ptr<ElasticMachine> machine_;
  HostedRendezvous* hosted_ = nullptr;  // the same machine, if it is of this kind
  bool running_ = false;                // run() was started, once and for all
  bool lost_ = false;                   // the store is lost
  bool admits_ = true;
  int restarts_ = 0;                   // told to a store that does not know them
  std::optional<Time> taken_since_{};  // another process has the port at which this node would found the job
  bool done_ = false;                  // what leave() or close() asked for is done
  bool will_stands_ = false;
  Bell ended_;   // rings when that is done, or the store is lost
  Scope scope_;  // of run()
};

}  // namespace launch

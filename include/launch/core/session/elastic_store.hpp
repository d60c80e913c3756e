// A node's part in the state of its c10d job: hosts the store if the endpoint leads here, connects, chooses the machine
// that suits the store, and carries it out, round after round. What it learns goes to its owner, ElasticSession, which
// must outlive it. It never starts a round of its own: what rounds mean is its owner's business.
#pragma once

#include "launch/core/c10d/elastic_machine.hpp"
#include "launch/core/c10d/hosted_rendezvous.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/rendezvous/liveness.hpp"
#include "launch/core/session/store_link.hpp"

#include <memory>
#include <optional>
#include <string>

namespace launch {

class ElasticStore {
 public:
  class Owner {
   public:
    virtual void on_news(ElasticNews news) = 0;
    virtual void on_other_store() = 0;          // what a round of the last one has begun is void
    virtual void on_no_store(Error error) = 0;  // none was found
    // The link has ended; whether the store has gone is yet to be seen. `silent`: it has said nothing for long.
    virtual void on_doubt(bool silent) = 0;
    virtual void on_lost(Error error) = 0;  // the store is
    // The store is there, but has taken this node for dead; it may join again.
    virtual void on_expelled() = 0;

   protected:
    ~Owner() = default;
  };

  // All references must outlive the object.
  ElasticStore(Stage& stage, const Config& config, const C10dChoice& choice, Owner& owner);

  // Opens the listener, if this node is told to host the store.
  Talk<Status> open();

  // The wishes of the machine. join() connects first, the first time, and hosts the store if the endpoint leads here.
  void join(bool admits, int restarts);
  void leave(std::string reason);
  void close();
  // What the store must do when this node goes away without a word, and WillLeft comes; false: by this store, nothing.
  bool pledge(LeaveWill will);
  // This node's workers have ended well: its loss is none to the others, and its will is `then`.
  void finish(LeaveWill then);

  // This node could not tell the others of its end: then its will does, when the store loses it.
  void let_will_stand() { will_stands_ = true; }

  // After leave() or close(): until that is done, or the deadline. Nothing is told any more.
  Talk<void> end(Time deadline);
  // The last word; the store hears that nothing has gone wrong.
  void part();

  bool hosts() const { return hosts_; }
  bool is_by_launch() const { return by_launch_; }  // a launch agent hosts the store, which so knows of wills
  // How long this node may stand still before others may go on without it; zero: for ever.
  Duration longest_stall(bool with_launch_agents) const;
  // The store's address, once it has answered, and this node's, for the workers of others.
  const std::optional<Endpoint>& reached() const { return reached_; }
  const std::string& address() const { return address_; }

 private:
  Talk<void> run();
  Talk<Result<StoreLink>> look_for_store(Endpoint endpoint, bool may_host);
  Talk<bool> connect();
  Talk<bool> look_again(Error lost);
  Talk<void> find_out_who_hosts();
  Talk<void> try_to_host();
  Talk<Status> choose_machine();
  Talk<Error> pursue();
  Talk<bool> come_back(bool was_silent);
  void take(StoreLink link);
  void take(ElasticNews news);
  void wake();

  Stage& stage_;
  const Config& config_;
  const C10dChoice& choice_;
  Owner& owner_;
  Heartbeat heartbeat_;
  bool hosts_ = false;
  std::uint16_t port_ = 0;   // where
  bool could_host_ = false;  // the endpoint leads here
  std::string address_;
  std::optional<Endpoint> reached_;
  std::optional<StoreLink> link_;
  // The one before, if nothing was heard on it: to close it would prove that this node's workers are gone.
  std::optional<StoreLink> last_link_;
  Time connected_{};
  Time give_up_{};  // looking for the store
  std::unique_ptr<ElasticMachine> machine_;
  HostedRendezvous* hosted_ = nullptr;  // the same, if it is one
  bool by_launch_ = false;
  bool running_ = false;  // run(), once and for all
  bool lost_ = false;     // the store is
  bool wants_in_ = false;
  bool admits_ = true;
  int restarts_ = 0;     // for a store that does not know
  bool formed_ = false;  // a round, once
  bool leaving_ = false;
  bool ending_ = false;
  bool done_ = false;  // what leave() or close() asked for
  bool will_stands_ = false;
  Bell ended_;   // it is, or the store is lost
  Scope scope_;  // of run()
};

}  // namespace launch

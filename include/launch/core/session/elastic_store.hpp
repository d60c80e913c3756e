// A node's part in the shared state of its c10d job. It hosts the store if the endpoint leads here, connects, chooses
// the machine that suits the store, and carries it out round after round. It tells what it learns to its owner,
// ElasticSession, which must outlive it. It never starts a round by itself: the owner decides what rounds mean.
#pragma once

#include "launch/core/c10d/elastic_machine.hpp"
#include "launch/core/c10d/hosted_rendezvous.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/rendezvous/liveness.hpp"
#include "launch/core/session/store_line.hpp"
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
  class Owner {
   public:
    virtual void on_news(ElasticNews news) = 0;
    virtual void on_other_store() = 0;          // what a round of the last store has begun is void
    virtual void on_no_store(Error error) = 0;  // no store was found
    // The link has ended; it is not known yet whether the store is gone. `silent`: the store has said nothing for long.
    virtual void on_doubt(bool silent) = 0;
    virtual void on_lost(Error error) = 0;  // the store is lost
    // The store is there, but has taken this node for dead; this node may join again.
    virtual void on_expelled() = 0;
    // The process that hosted the store has ended; this node looks for the one that hosts it next. `workers`: how long
    // its workers may still run; nothing: it waits for a round, and has none.
    virtual void on_host_gone(const LastRound& last, std::optional<Duration> workers) = 0;
    // The job lives elsewhere, and this node joins it there. `waits`: it has no workers.
    virtual void on_elder(const MovedJob& job, bool waits) = 0;
    // False: the job has ended, as far as this node is concerned. The second one hears first what the host has said
    // last.
    virtual bool goes_on() const = 0;
    virtual Talk<bool> still_goes_on() = 0;

   protected:
    ~Owner() = default;
  };

  // All references must outlive the object.
  ElasticStore(Stage& stage, const Config& config, const C10dChoice& choice, Owner& owner);

  // Opens the listener, if this node is told to host the store.
  Talk<Status> open();

  // The wishes for the machine. The first join() connects first, and hosts the store if the endpoint leads here.
  void join(bool admits, int restarts);
  void leave(std::string reason) {
    leaving_ = true;
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
    if (!by_launch_) return false;
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
    line_.forget_host();
    for (auto* link : {&link_, &last_link_}) {
      if (*link && by_launch_ && !will_stands_) (*link)->part();
      link->reset();
    }
  }

  // Waits while this node finds out whether the process that hosted the store has ended. If it has, and another one can
  // follow, the owner hears of that before.
  Talk<void> found_out();

  bool hosts() const { return hosts_; }
  bool is_moving() const { return line_.comes_back(); }  // since its last host has ended no round has formed
  bool can_move() const { return line_.leads_on(); }     // another node can host the store when the host has ended
  bool is_by_launch() const { return by_launch_; }       // a launch agent hosts the store, so the store knows wills
  // How long this node may stall before others may go on without it; zero: for ever.
  Duration longest_stall(bool with_launch_agents) const;
  // The store's address, once it has answered, and this node's address, for the workers of other nodes.
  const std::optional<Endpoint>& reached() const { return reached_; }
  const std::string& address() const { return address_; }

 private:
  Talk<void> run();
  Talk<Result<StoreLink>> look_for_store(Endpoint endpoint, bool may_host);
  Talk<Result<StoreLink>> look_in_row(std::function<void(const Error&)> on_retry);
  // So that nodes of this job know the store for theirs, and those of others do not.
  Talk<void> claim() {
    if (hosts_ && !choice_.ports.empty()) (void)co_await link_->set(claim_key(config_.run_id, 0), "host", give_up_);
  }
  Talk<bool> connect();
  Talk<bool> look_again(Error lost);
  Talk<void> find_out_who_hosts();
  Talk<void> try_to_host();
  Talk<Status> choose_machine();
  Talk<Error> pursue();
  Talk<Result<Outcome>> perform(Operation next);
  Talk<bool> come_back(bool was_silent);
  enum class Way {
    as_ever,
    followed,
    in_vain
  };
  bool may_have_ended(const Error& lost) const;
  Talk<Way> find_out(bool waits);
  Talk<Way> follow(bool waits);
  Talk<Way> look_for_next();
  Talk<Way> give_way(bool waits);
  Talk<void> abandon_store();
  Duration patience_with_host() const {
    const bool hurries = config_.heartbeat_timeout > Duration::zero();
    return hurries ? config_.heartbeat_timeout : choice_.settings.join_timeout;
  }
  void settle_at(StoreLine::Next next);
  NodeDesc self() const;
  std::string address_to_others() const;
  void take(StoreLink link) {
    line_.forget_host();
    link_.reset();
    link_.emplace(std::move(link));
    connected_ = stage_.moment();
  }
  void take(ElasticNews news);
  void wake() {
    if (link_) link_->wake();
  }

  Stage& stage_;
  const Config& config_;
  const C10dChoice& choice_;
  Owner& owner_;
  Heartbeat heartbeat_;
  bool hosts_ = false;
  Endpoint store_;           // where it is, as far as that is known
  std::uint16_t port_ = 0;   // where the store of this node listens
  bool could_host_ = false;  // the endpoint leads here
  std::string address_;
  std::optional<Endpoint> reached_;
  std::optional<StoreLink> link_;
  // The link before, if it fell silent: closing it would tell the store that this node's workers are gone.
  std::optional<StoreLink> last_link_;
  Time connected_{};
  Time give_up_{};  // when to give up looking for the store
  std::unique_ptr<ElasticMachine> machine_;
  HostedRendezvous* hosted_ = nullptr;  // the same machine, if it is of this kind
  bool by_launch_ = false;
  bool running_ = false;  // run() was started, once and for all
  bool lost_ = false;     // the store is lost
  bool wants_in_ = false;
  bool admits_ = true;
  int restarts_ = 0;     // told to a store that does not know them
  bool formed_ = false;  // at least one round has formed
  bool leaving_ = false;
  bool ending_ = false;
  bool done_ = false;  // what leave() or close() asked for is done
  bool will_stands_ = false;
  StoreLine line_;
  bool finds_out_ = false;  // whether the host has ended
  Bell found_out_;
  std::optional<MovedJob> elder_;  // the job that this one gives way to
  Bell ended_;                     // rings when that is done, or the store is lost
  Scope scope_;                    // of run()
};

}  // namespace launch

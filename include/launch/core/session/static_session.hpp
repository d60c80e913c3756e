// The session of nodes that know their rank; node 0 hosts the store. After a failure all of them go on to the next
// attempt, if all are launch agents. Made by session_factory. It hosts the store only as node 0.
//
// A talk of an attempt belongs to its scope, and so ends with it.
#pragma once

#include "launch/core/rendezvous/static_rendezvous.hpp"
#include "launch/core/session/end_account.hpp"
#include "launch/core/session/round_watch.hpp"
#include "launch/core/session/session.hpp"
#include "launch/core/store/keys.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class StaticSession : public Session {
 public:
  // `config` and `nodes` must outlive it.
  StaticSession(const Config& config, const StaticChoice& nodes, const SessionFacts& facts);
  ~StaticSession() override;

 private:
  Talk<Status> open() override;
  void join(const JoinRound& event) override;
  void stop_joining() override;
  Talk<void> tell(Failure failure) override;
  void enter_barrier() override;
  Talk<Account> share(Account own, Failure first) override;
  Talk<void> end(bool failed) override;
  void hurry() override;

  bool hosts() const { return nodes_.node_rank == NodeRank(0); }
  std::string prefix() const { return attempt_prefix(config_.run_id, attempt_); }
  std::string end_prefix() const { return attempt_prefix(config_.run_id, attempt_ + static_cast<int>(ends_ahead_)); }
  Talk<void> join_attempt();
  enum class Joined {
    over,
    store_gone,  // without a report: node 0 may be started again, as long as the job has not formed
    rank_held,   // by an agent of this host that has ended; the store will notice
  };
  Talk<Joined> join_once();
  Talk<Joined> join_again(Error why);
  Talk<Result<StoreLink>> look_for_node_0();
  Talk<bool> is_held_by_the_dead();
  Talk<Result<Round>> form_here();
  RoundWatch::Place place(int attempt) const;
  Will will() const;
  Will will_in_barrier() const;
  Talk<bool> open_late();
  void begin_seeking();
  Talk<void> look_for_another_node_0();
  Talk<void> announce(Waiting waiting);
  Talk<void> leave_round();
  Talk<void> see_others_informed();
  Talk<void> tell_late();
  Talk<Result<Failure>> tell_by(StoreLink& link, Failure failure, Time deadline);
  Talk<void> keep_telling();
  Talk<void> tell_again(StoreLink& link);
  Endpoint store_endpoint() const;
  StaticJob static_job() const;
  Talk<Result<StoreLink>> connect_again(Time deadline);

  StaticChoice nodes_;    // with the port of node 0 that was found
  std::string identity_;  // tells this agent from others that may claim its node rank
  int attempt_ = -1;      // the attempt that was joined last
  int restarts_ = 0;      // how many the job has had then
  Time give_up_joining_ = never;
  std::string holder_;                 // the agent that has claimed this node's rank before
  Time held_until_ = never;            // how long an ended agent may still hold this node's rank
  std::optional<Endpoint> reached_;    // the store's address, once it has answered
  std::unique_ptr<RoundWatch> watch_;  // of the attempt
  // The watches of earlier attempts, whose wills stand until that of this attempt does.
  std::vector<std::unique_ptr<RoundWatch>> earlier_;
  std::optional<Failure> untold_;  // a failure of this node that the others may not know of
  bool ends_ahead_ = false;        // the others go on to the next attempt, and hear there that this node ends the job
  EndAccount account_;
  bool opens_late_ = false;    // the store's port was not free yet
  bool finds_itself_ = false;  // as node 0: the address that the others use leads here
  bool mixed_ = false;         // the job has torchrun's agents; known in the exit barrier
  Scope round_;                // talks of the attempt
  Scope seeking_;              // talks of the attempt that end when it has formed
};

}  // namespace launch

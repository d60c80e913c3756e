// The c10d session of this node. It turns what ElasticStore tells about rounds into rounds with ranks and with a place
// where the workers meet, which is here if this node has rank 0. It does so round after round until the job ends. Made
// by session_factory.
//
// A talk of a round belongs to the scope of that round, and so ends with it: news of an old round reaches nobody.
#pragma once

#include "launch/core/session/elastic_store.hpp"
#include "launch/core/session/end_account.hpp"
#include "launch/core/session/round_watch.hpp"
#include "launch/core/session/session.hpp"
#include "launch/core/session/worker_meeting.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class ElasticSession : public Session, private ElasticStore::Owner {
 public:
  // `config` and `choice` must outlive it.
  ElasticSession(const Config& config, const C10dChoice& choice, const SessionFacts& facts);
  ~ElasticSession() override;

 private:
  Talk<Status> open() override { return store_.open(); }
  void join(const JoinRound& event) override;
  void stop_joining() override;
  Talk<void> tell(Failure failure) override;
  void enter_barrier() override;
  Talk<Account> share(Account own, Failure first) override;
  Talk<void> end(bool failed) override;
  void hurry() override;

  // What the store tells.
  void on_news(ElasticNews news) override;
  void on_other_store() override { give_up_round(); }
  void on_no_store(Error error) override;
  void on_doubt(bool silent) override;
  void on_lost(Error error) override;
  void on_expelled() override;
  void take(RoundFormed formed);
  void take(RoundBroken broken);
  void take(const RoundWaits& waits);
  void take(RoundRefused refused);
  void take(const WillLeft& /*left*/) { begin_pledged(); }
  void take(const RendezvousEnded& /*ended*/) {}
  Talk<void> announce(RoundWaits waits);
  Talk<void> explain_closed(RoundRefused refused);
  Talk<void> explain_break(RoundBroken broken);
  Talk<bool> is_explained_elsewhere(RoundBroken broken);
  Talk<bool> have_all_ended();
  Talk<void> explain_expulsion();

  // One round.
  Talk<void> form_round(RoundFormed formed);
  Talk<Result<Round>> begin_round(RoundFormed formed);
  Talk<void> tell_late(RoundFormed formed);
  Talk<Result<Round>> exchange_ranks(StoreLink& control, RoundFormed formed);
  void begin_pledged();
  void give_up_round();

  Talk<Result<StoreLink>> connect_again(Time deadline);
  Talk<std::optional<Failure>> read_abort(std::string prefix);
  Talk<void> keep_telling(Failure failure);
  Talk<void> tell_by(StoreLink& link, Failure failure, Time deadline);
  void pass_on(const Result<Failure>& first);
  Talk<void> see_others_off(bool failed, Time start);
  ExchangePlace place_for_end(const Failure& first) const;
  Duration grace() const;
  bool may_leave() const;
  bool mixed() const { return !torchrun_.empty(); }
  std::vector<NodeRank> launch_nodes() const;
  bool hosts_a_store() const { return store_.hosts() || meeting_.hosts(); }

  const C10dChoice& choice_;
  WorkerMeeting meeting_;
  ElasticStore store_;
  std::optional<RoundWatch> watch_;       // of the round
  std::optional<RoundFormed> beginning_;  // the round that has formed, until its ranks and meeting place are known
  bool compared_ = false;                 // this node's settings with those of the job
  bool in_barrier_ = false;               // this node is in the exit barrier of the round
  bool stranger_ = false;                 // the job has refused this node
  std::vector<NodeRank> torchrun_;        // ranks of torchrun's nodes in the round
  bool untold_ = false;                   // the others may not know of this node's failure
  std::optional<Round> pledged_;          // the round that the agent hears of once the store has the will
  int restarts_ = 0;                      // before this round
  bool doubted_ = false;                  // the workers restart already, since the store is silent
  NodeRank gone_ = NodeRank::none();      // the node that broke up the round, by leaving or being lost
  bool left_ = false;                     // this node left because of a signal: the others may go on
  bool others_go_on_ = false;             // to the next round, and hear there that this node has ended the job
  EndAccount account_;
  Scope round_;  // talks of the round
  Scope late_;   // tells the others what they should have heard before
};

}  // namespace launch

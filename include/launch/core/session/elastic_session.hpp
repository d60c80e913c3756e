// The c10d session of this node. It turns what ElasticStore tells about rounds into rounds with ranks and with a place
// where the workers meet, which is here if this node has rank 0. It does so round after round until the job ends. Made
// by session_factory.
//
// A talk of a round belongs to the scope of that round, and so ends with it: news of an old round reaches nobody.
#pragma once

#include "launch/core/session/dialogs.hpp"
#include "launch/core/session/elastic_store.hpp"
#include "launch/core/session/end_account.hpp"
#include "launch/core/session/excuse.hpp"
#include "launch/core/session/round_watch.hpp"
#include "launch/core/session/session.hpp"
#include "launch/core/session/worker_meeting.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace launch {

class ElasticSession : public Session, private ElasticStore::Owner {
 public:
  // `config` and `choice` must outlive it.
  ElasticSession(const Config& config, const C10dChoice& choice, const SessionFacts& facts);
  ~ElasticSession() override { stage_.end(); }

 private:
  Talk<Status> open() override { return store_.open(); }
  void join(const JoinRound& event) override;
  void stop_joining() override {
    give_up_round();
    if (watch_) watch_->control().close();
  }
  Talk<void> tell(Failure failure) override;
  void enter_barrier() override;
  Talk<Account> share(Account own, Failure first) override;
  Talk<void> end(bool failed) override;
  void hurry() override {
    account_.hurry();
    stage_.act(StopAwaiting{});
  }

  // What the store tells.
  void on_news(ElasticNews news) override;
  void on_other_store() override { give_up_round(); }
  void on_no_store(Error error) override { stage_.tell(RendezvousFailed{std::move(error)}); }
  // The others, if they are there at all, may be about to go on without this node.
  void on_doubt(bool silent) override {
    stage_.act(LimitGrace{grace()});
    doubted_ = silent && watch_ && !in_barrier_ && may_be_cut_off();
    if (!doubted_) return;
    watch_->expect_another_round();
    stage_.tell(MembersChanged{"the job's store has not answered for long", grace()});
  }
  void on_lost(Error error) override { stage_.tell(StoreLost{error.message, grace(), {}, store_.is_by_launch()}); }
  void on_expelled() override;
  void on_host_gone(const LastRound& last, std::optional<Duration> workers, bool ended) override;
  void on_elder(const MovedJob& job, bool waits) override {
    if (watch_) watch_->forget_store();
    if (waits) return;
    const Duration most = serves_majority(config_) ? grace() : grace_after_host(config_.heartbeat_timeout);
    stage_.tell(MembersChanged{"the job lives elsewhere: " + job.host.addr + " hosts it",
                               most > Duration::zero() ? most : Duration::max()});
  }
  bool goes_on() const override {
    const bool ended = stranger_ || ends_ || closed_ || (watch_ && (watch_->is_last() || watch_->passed()));
    const bool may_have_ended = watch_ && watch_->has_unread_failure() && config_.restarts.max_restarts == 0;
    return goes_on_without_a_node(config_) && !ended && !may_have_ended;
  }
  Talk<bool> still_goes_on() override;
  void take(RoundFormed formed);
  void take(RoundBroken broken) {
    gone_ = broken.gone;
    round_.start(explain_break(std::move(broken)));
  }
  void take(const RoundWaits& waits) {
    if (!waits.unasked) round_.start(announce(waits));
  }
  void take(RoundRefused refused);
  void take(const RoundMoved& /*moved*/) {}
  void take(const WillLeft& /*left*/) { begin_pledged(); }
  void take(const RendezvousEnded& /*ended*/) {}
  Talk<void> announce(RoundWaits waits);
  Talk<void> explain_closed(RoundRefused refused);
  // A host that is told to stop between two rounds ends the job, and watches none.
  Talk<void> explain_end() {
    auto pause = stage_.until(later(stage_.moment(), std::chrono::milliseconds(100)));
    co_await pause;
    if (!watch_ || watch_->has_heard_of_failure() || told_) co_return;
    const auto failure = co_await read_abort(stage_, *store_.reached(), job_prefix(config_.run_id));
    if (!failure) co_return;
    gathers_nothing_ = true;
    stage_.tell(PeerFailed{*failure});
  }
  Talk<void> explain_break(RoundBroken broken);
  Talk<bool> is_explained_elsewhere(RoundBroken broken);
  Talk<void> explain_expulsion();

  // One round.
  Talk<void> form_round(RoundFormed formed);
  Talk<Result<Round>> begin_round(RoundFormed formed);
  Talk<void> tell_late(RoundFormed formed) {
    auto link = co_await connect_again(later(stage_.moment(), quick_answer));
    if (!link) co_return;
    co_await meeting_.say_late(*link, formed, store_.address());
    (void)co_await exchange_ranks(*link, formed);
  }
  Talk<Result<Round>> exchange_ranks(StoreLink& control, RoundFormed formed);
  void begin_pledged() {
    auto round = std::exchange(pledged_, std::nullopt);
    if (!round) return;
    const RoundWatch::Place& here = watch_->place();
    asks_.begin({*store_.reached(), here.prefix, here.node_rank, here.nnodes, launch_nodes()});
    warn_of_torchrun();
    stage_.tell(RendezvousDone{*std::move(round)});
  }
  // Said once, at the start and not at the end: no other node can host the store.
  void warn_of_torchrun() {
    const bool is_news = mixed() && store_.hosts() && choice_.host_moves && goes_on_without_a_node(config_);
    if (!is_news || std::exchange(warned_of_torchrun_, true)) return;
    stage_.say(Say::Level::info,
               "a node of torchrun takes part, which cannot follow to another host of the rendezvous: if this node is "
               "lost, the job ends");
  }
  void give_up_round();

  Talk<Result<StoreLink>> connect_again(Time deadline) { return connect_quietly(stage_, *store_.reached(), deadline); }
  Talk<void> keep_telling(Failure failure);
  Talk<void> tell_all(Failure failure);
  Talk<void> tell_first(Failure failure);
  Talk<void> tell_by(StoreLink& link, Failure failure, Time deadline);
  // The end of the host may be the reason.
  bool may_be_excused(const Failure& failure) const {
    const bool may_move = watch_ && store_.can_move() && !store_.hosts();
    return failure.kind == Failure::Kind::worker && (may_move || host_gone_);
  }
  void pass_on(const Result<Failure>& first) {
    untold_ = !first;
    if (untold_) store_.let_will_stand();
    launch::pass_on(stage_, first);
  }
  Talk<void> stay_out() {
    if (!watch_ || watch_->lost()) co_return;
    auto link = co_await connect_again(later(stage_.moment(), EndAccount::to_connect));
    if (!link) co_return;
    const RoundWatch::Place& here = watch_->place();
    ExchangePlace place{here.prefix, here.node_rank};
    co_await account_.stay_out(*std::move(link), std::move(place));
  }
  Talk<void> see_others_off(bool failed, Time start);
  Talk<void> see_busy_ones_off(Time start);
  ExchangePlace place_for_end(const Failure& first) const;
  Duration grace() const;
  // The host stays, since the store is in its process, unless the others are enough and another one can host it. In the
  // exit barrier it stays, too: the others may need no further round.
  bool may_leave() const {
    const int others = store_.is_moving() ? store_.left_of_last_round() - 1 : others_;
    const bool can_move = store_.can_move() && !in_barrier_ && others >= choice_.settings.nodes.min;
    return can_be_missed() || (goes_on_without_a_node(config_) && can_move);
  }
  // Who leaves with 0 was asked to, and that was granted. As a code of the job's end it would say nothing to others.
  bool leaves_with(const Failure& failure) const {
    const bool ends_all = failure.of_all && (watch_ || store_.hosts()) && choice_.host_moves;  // others leave as ever
    return failure.kind == Failure::Kind::signal && !ends_all && (may_leave() || failure.exit_code == 0);
  }
  // Who attends at the store of this node now, and stays. Whoever stands by there takes its place.
  Talk<void> count_nodes() {
    if (!store_.hosts() || !store_.can_move()) co_return;
    auto counting = stage_.ask<Nodes>(CountNodes{});
    const Nodes nodes = co_await counting;
    others_ = static_cast<int>(nodes.others - nodes.leaving);
    missing_ = watch_ && nodes.others < launch_nodes().size() - 1;
  }
  bool may_be_cut_off() const { return can_be_missed() || serves_majority(config_); }
  bool can_be_missed() const { return goes_on_without_a_node(config_) && !store_.hosts(); }
  bool visits() const { return store_.is_moving() && !store_.hosts(); }  // it has been in no round of this store
  Talk<void> lose_beginning(Error error);
  bool mixed() const { return !torchrun_.empty(); }
  std::vector<NodeRank> launch_nodes() const { return watch_->place().nodes_without(torchrun_); }
  bool hosts_a_store() const { return store_.hosts() || meeting_.hosts(); }

  const C10dChoice& choice_;
  WorkerMeeting meeting_;
  ElasticStore store_;
  std::optional<RoundWatch> watch_;       // of the round
  std::optional<RoundFormed> beginning_;  // the round that has formed, until its ranks and meeting place are known
  bool compared_ = false;                 // this node's settings with those of the job
  bool in_barrier_ = false;               // this node is in the exit barrier of the round
  bool closed_ = false;                   // the job has ended, as the store said; why, the round tells
  bool stranger_ = false;                 // the job has refused this node
  std::vector<NodeRank> torchrun_;        // ranks of torchrun's nodes in the round
  bool warned_of_torchrun_ = false;
  bool untold_ = false;               // the others may not know of this node's failure
  std::optional<Round> pledged_;      // the round that the agent hears of once the store has the will
  int restarts_ = 0;                  // before this round
  int others_ = 0;                    // at the store of this node, when they were counted last
  bool missing_ = false;              // some of its round did not attend then; they will say nothing
  std::optional<Failure> heard_{};    // what the host has answered to a failure of this node in the round
  bool told_ = false;                 // the others may have heard of a failure of this node in the round
  bool host_gone_ = false;            // in the round; another one follows
  bool doubted_ = false;              // the workers restart already, since the store is silent
  NodeRank gone_ = NodeRank::none();  // the node that broke up the round, by leaving or being lost
  bool ends_ = false;                 // the job ends, because of a failure of this node
  bool left_ = false;                 // this node left because of a signal: the others may go on
  bool gathers_nothing_ = false;      // the host, which has ended the job between two rounds, takes no part in the end
  bool others_go_on_ = false;         // to the next round, and hear there that this node has ended the job
  Excuse excuse_;
  EndAccount account_;
  Scope round_;  // talks of the round
  Scope late_;   // tells the others what they should have heard before
};

}  // namespace launch

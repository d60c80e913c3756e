// A node's two links to the store within one round. One is for talking. The other waits for the round's first failure
// and is this node's sign of life: it has this node's will, and asks again a few times within the limit of silence. So
// the store's host hears of this node, and this node hears of the host.
//
// Made by a session for each round. When it is destroyed it takes the will back and tells nothing any more; talks of
// others that use it must have been given up before.
#pragma once

#include "launch/core/rendezvous/liveness.hpp"
#include "launch/core/session/store_link.hpp"
#include "launch/core/store/will.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace launch {

class RoundWatch {
 public:
  struct Place {
    std::string prefix;  // of the round's keys
    NodeRank node_rank{};
    int nnodes = 1;
    Duration silence_limit{};          // zero: nobody's silence is a failure
    bool beats = true;                 // false: another link is this node's sign of life, and has its will
    Duration grace = Duration::max();  // how long workers may run once the store is lost and others may go on
    bool host_may_move = false;  // if the store's host has ended, the session hears of it by another link, and goes on
    std::optional<bool> by_launch{};  // whether a launch agent hosts the store; pledge() asks unless it is known

    // All nodes of the round, except `some`, which are sorted.
    std::vector<NodeRank> nodes_without(const std::vector<NodeRank>& some) const;
  };

  // The stage must outlive it.
  RoundWatch(Stage& stage, StoreLink control, Place place);
  RoundWatch(const RoundWatch&) = delete;
  RoundWatch& operator=(const RoundWatch&) = delete;
  ~RoundWatch();

  StoreLink& control() { return control_; }
  const Place& place() const { return place_; }

  // Leaves a will, if the store knows wills; called before start_watching(). An error: the store does not answer.
  Talk<Status> pledge(Will will, Time connect_by);
  // PeerFailed or StoreLost will come.
  void start_watching(Time connect_by);
  // Called before pledge(): until formed(), the loss of the store is not told, but ends what control() is doing. Not so
  // if torchrun's agent hosts the store.
  void wait_for_store() { waits_for_store_ = true; }
  void formed() { waits_for_store_ = false; }
  // After an error of control(): whether the store was lost before it told of a failure, as far as is known at `by`.
  Talk<bool> was_lost(Time by);
  // BarrierDone will come, or StoreLost. `on_counted`: called when this node has counted itself in the barrier, where
  // nobody needs it any more.
  void start_leaving(std::optional<Duration> patience, std::function<void()> on_counted);
  void replace_will(Will will);
  // This node could not tell the others of its end: its will must tell them when the store loses this node.
  void let_will_stand() { has_will_ = false; }
  // The next round begins: nothing is told any more, except the loss of the store and a failure that ends the job. The
  // will stands until the end.
  void retire();

  // The store's host has ended, and another one will follow: nothing is told any more.
  void forget_store();
  // The loss of the store, if it was about to be told, is no news: the node will join again.
  void expect_another_round();
  // This node leaves, with an exit code of its own: no failure of the others is told any more.
  void go_alone() { alone_ = true; }

  // A failure has ended the round, and the job.
  bool is_last() const { return is_last_; }
  // A failure has ended the round, or a restart.
  bool has_heard_of_failure() const { return aborted_; }
  // The same, and nobody has told this node which one.
  bool has_unread_failure() const { return aborted_ && !learned_; }
  // All nodes have passed the exit barrier; BarrierDone has been told.
  bool passed() const { return passed_; }
  // In the exit barrier: waits until what the host has said last is read, if it has ended.
  Talk<void> read_out(Time by);

  // The store is lost; StoreLost has been told if it matters to the agent.
  bool lost() const { return lost_; }

 private:
  bool beats() const { return place_.beats && place_.silence_limit != Duration::zero(); }
  Talk<void> watch(Time connect_by);
  Talk<Result<Failure>> await_abort();
  Talk<Status> renew_will();
  Talk<void> be_heard(bool goes_on);
  void lose(const Error& error);
  Time next_beat() const;
  Time patience() const;
  Talk<void> watch_again();
  void tell_loss(const Error& error, bool host_waits);
  Talk<void> tell_late(StoreLost loss);
  Talk<void> learn_what_failed();
  void tell(Failure failure);
  Talk<void> leave(std::optional<Duration> patience, std::function<void()> on_counted);
  Talk<void> pass_barrier(std::optional<Duration> patience, std::function<void()> on_counted);

  Stage& stage_;
  Place place_;
  Heartbeat heartbeat_;
  bool host_waits_;  // a launch agent hosts the store, and stays until this node knows that all have ended
  StoreLink control_;
  std::optional<StoreLink> watch_;
  Bell over_;                     // rings when somebody has written the abort key, or watching has ended
  bool has_will_ = false;         // the store has a will of this node
  std::optional<Will> new_will_;  // and must get this one instead
  bool waits_for_store_ = false;
  bool aborted_ = false;  // somebody has written the abort key
  bool learned_ = false;  // this node knows what it holds
  bool is_last_ = false;  // and that ends the job
  bool watches_ = false;
  bool leaves_ = false;  // this node is in the exit barrier
  bool passed_ = false;
  bool out_ = false;  // and that has ended in one way or the other
  Bell heard_out_;    // rings then
  bool retired_ = false;
  bool alone_ = false;
  bool lost_ = false;
  bool failed_ = false;     // the exit barrier has said that the round failed
  Duration stood_still_{};  // how long this process had stalled when it lost the store
  Scope watching_, leaving_;
};

// What the others are told when this node, on `host`, is lost without a word or falls silent. `others_go_on`: they form
// a new round without it.
Will last_will(const RoundWatch::Place& place, const std::string& host, bool others_go_on);

}  // namespace launch

// How the nodes of a job find each other and hear from each other, as the agent of one node sees it: the life of a node
// between rounds and during them. A machine: events in, actions out; app/session_runner and the simulator carry these
// out. There is one kind for nodes that know their rank, one for c10d, and one for a job of one node (session_factory).
//
// It never starts or ends a worker, and knows about clocks, sockets and processes only what its events say. Whatever
// takes several steps is a Talk on its stage.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/session/job_asks.hpp"
#include "launch/core/session/stage.hpp"

#include <cstdint>

namespace launch {

// Facts about this process; the rest is in Config.
struct SessionFacts {
  int pid = 0;             // of this agent; the process that the user started has another one
  std::uint64_t seed = 0;  // for its random numbers
};

class Session {
 public:
  // `config` must outlive it.
  Session(const Config& config, const SessionFacts& facts);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session();

  SessionActions on(const SessionEvent& event, const Moment& moment);
  // When MomentReached must come.
  Time deadline() const { return stage_.deadline(); }

 protected:
  virtual Talk<Status> open() = 0;
  virtual void join(const JoinRound& event) = 0;
  virtual void stop_joining() = 0;
  virtual Talk<void> tell(Failure failure) = 0;
  virtual void enter_barrier() = 0;
  virtual Talk<Account> share(Account own, Failure first) = 0;
  virtual Talk<void> end(bool failed) = 0;
  virtual void hurry() = 0;

  const Config& config_;
  Stage stage_;
  JobAsks asks_;  // begun by the session with each round that it has formed

 private:
  void handle(const OpenSession& event);
  void handle(const JoinRound& event);
  void handle(const StopJoining& /*event*/) { stop_joining(); }
  void handle(const TellOthers& event);
  void handle(const EnterExitBarrier& /*event*/) { enter_barrier(); }
  void handle(const ShareAccount& event);
  void handle(const EndSession& event);
  void handle(const HurrySession& /*event*/) { hurry(); }
  void handle(const AskJob& event) { asks_.ask(event); }
  void handle(const AnswerAsk& event) { asks_.answer(event); }
  void handle(const Answer& event) { stage_.answer(event); }
  void handle(const MomentReached& /*event*/) {}

  Talk<void> open_and_say();
  Talk<void> tell_and_say(Failure failure);
  Talk<void> share_and_say(Account own, Failure first);
  Talk<void> end_and_say(bool failed);
};

}  // namespace launch

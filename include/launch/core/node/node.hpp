// One node of a job, whole: its agent and its session, and what goes between them in which order. What happens on its
// host and what its questions come to goes in; what must be done on the host and on the network comes out. The real one
// is carried out by app/agent_loop; the simulator plays many.
//
// The agent hears one thing after the other: the next one when what came of the last is done. News from the others may
// come meanwhile, and wait. It knows no clock, socket or process.
#pragma once

#include "launch/core/agent/agent.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/session/session.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace launch {

// clang-format off

// ---- events, beside OpenSession, Answer and MomentReached

struct StartNode {};                                        // once the session is open
struct FromHost { AgentEvent event; bool first = false; };  // `first`: ahead of what waits
struct CarriedOut {};                                       // AnnounceRound, GatherEvidence or EnterBarrier is done
struct Concluded { Account own; };                          // Conclude is, and so the workers of this node ended
struct Reported {};                                         // Report is

using NodeEvent = std::variant<OpenSession, StartNode, FromHost, CarriedOut, Concluded, Reported, Answer,
                               MomentReached>;

// ---- actions, beside those of the session that concern the network

// News for those who keep a record; there is nothing to be done.
struct Heard { Failure failure; };
// The end: what is left of the workers' output is shown. Answered by Concluded.
struct Conclude { Finish end; };
// What the user is told. Answered by Reported. `formed`: a round has, once; `round` is the last one.
struct Report { Finish end; Account account; Round round; bool formed = false; };
struct Exit { int code = 0; };

// CarriedOut must follow AnnounceRound, GatherEvidence and EnterBarrier: its node waits for the others, with a terminal
// that is its own again. StartRendezvous is news.
using NodeAction = std::variant<Ask, Beat, WakeLink, PartLink, CloseLink, PrepareStore, FenceStore, StopAwaiting,
                                LimitGrace, Say, SessionOpened, StartRendezvous, AnnounceRound, StartWorkers,
                                GatherEvidence, SignalWorkers, KillWorkers, EnterBarrier, Heard, Conclude, Report,
                                Exit>;
using NodeActions = std::vector<NodeAction>;

// clang-format on

class Node {
 public:
  // `config` must outlive it.
  Node(const Config& config, const SessionFacts& facts);

  NodeActions on(NodeEvent event, const Moment& moment);
  // When MomentReached must come.
  Time deadline() const;
  // When workers that were told to end will be killed; nullopt: they were not told to.
  std::optional<Time> kills_at() const;

 private:
  void handle(OpenSession event) { feed_session(event); }
  void handle(StartNode event);
  void handle(FromHost event);
  void handle(CarriedOut event);
  void handle(Concluded event);
  void handle(Reported event);
  void handle(Answer event) { feed_session(std::move(event)); }
  void handle(MomentReached event) { feed_session(event); }

  // What the session wants, if it does not concern the network.
  void take(Tell action);
  void take(const ForgetRound& action);
  void take(const OthersTold& action);
  void take(AccountShared action) { report(std::move(action.account)); }
  void take(const SessionEnded& action);
  template <class Action>
  void take(Action action) {
    act(std::move(action));
  }

  void carry_out(StartRendezvous action);
  void carry_out(StopRendezvous action);
  void carry_out(AnnounceRound action);
  void carry_out(StartWorkers action);
  void carry_out(GatherEvidence action);
  void carry_out(SignalWorkers action) { act(std::move(action)); }
  void carry_out(KillWorkers action) { act(action); }
  void carry_out(TellPeers action);
  void carry_out(EnterBarrier action);
  void carry_out(Finish action);

  void act(NodeAction action) { actions_.push_back(std::move(action)); }
  void feed_session(const SessionEvent& event);
  void feed_agent(const AgentEvent& event);
  void work();
  bool carry_out_next();
  bool hear_next();
  bool busy() const { return carrying_ || ending_ || held_; }
  void report(Account account);

  Agent agent_;
  std::unique_ptr<Session> session_;
  Moment moment_;
  NodeActions actions_;
  std::deque<AgentAction> todo_;
  std::deque<AgentEvent> inbox_;
  bool carrying_ = false;  // out something that takes its time
  bool leaving_ = false;   // the exit barrier comes after it
  bool telling_ = false;   // the others of a failure, beside all else
  bool held_ = false;      // AllGone has come, but somebody else's failure may have been the first
  std::optional<Finish> ending_;
  Round round_;
  bool formed_ = false;
};

}  // namespace launch

// One whole node of a job: its agent, its session, and what they tell each other in which order. Events of its host and
// the answers to its questions go in; what must be done on the host and on the network comes out. app/agent_loop
// carries that out for a real node; the simulator plays many nodes.
//
// The agent hears one event at a time: it hears the next one when the actions for the last one are done. News from
// other nodes may arrive meanwhile, and must wait. Node knows no clock, socket or process.
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

// ---- events, besides OpenSession, AskJob, AnswerAsk, Answer and MomentReached

struct StartNode {};                                        // once the session is open
struct FromHost { AgentEvent event; bool first = false; };  // `first`: before the events that wait
struct CarriedOut {};                                       // AnnounceRound, GatherEvidence or EnterBarrier is done
struct Concluded { Account own; };                          // Conclude is done, so the workers of this node have ended
struct Reported {};                                         // Report is done

using NodeEvent = std::variant<OpenSession, StartNode, FromHost, CarriedOut, Concluded, Reported, AskJob, AnswerAsk,
                               Answer, MomentReached>;

// ---- actions, besides those of the session that concern the network or what nodes ask each other

// News for code that keeps a record; nothing must be done.
struct Heard { Failure failure; };
// The end: shows what is left of the workers' output. Answered by Concluded.
struct Conclude { Finish end; };
// What the user is told. Answered by Reported. `formed`: at least one round has formed; `round` is the last one.
struct Report { Finish end; Account account; Round round; bool formed = false; };
struct Exit { int code = 0; };

// CarriedOut must follow AnnounceRound, GatherEvidence and EnterBarrier. EnterBarrier takes the terminal back before
// the node waits for the others. StartRendezvous is only news.
using NodeAction = std::variant<Ask, Beat, WakeLink, PartLink, CloseLink, PrepareStore, PointTo, FenceStore, HostMoved,
                                StopAwaiting, LimitGrace, Say, SessionOpened, StartRendezvous, AnnounceRound,
                                StartWorkers, GatherEvidence, SignalWorkers, KillWorkers, RunAfterHook, EnterBarrier,
                                Heard, Asked, JobAnswered, Conclude, Report, Exit>;
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
  // For people: "running". See Agent.
  std::string_view state() const { return agent_.state(); }
  std::optional<std::string> refuses_restart() const { return agent_.refuses_restart(); }
  std::optional<std::string> refuses_leave() const { return agent_.refuses_leave(); }
  bool is_missed() const { return agent_.is_missed(); }
  std::string stop_text(int signal, std::string_view sender) const { return agent_.stop_text(signal, sender); }

 private:
  void handle(OpenSession event) { feed_session(event); }
  void handle(StartNode event);
  void handle(FromHost event);
  void handle(CarriedOut event);
  void handle(Concluded event);
  void handle(Reported event);
  void handle(AskJob event) { feed_session(std::move(event)); }
  void handle(AnswerAsk event) { feed_session(std::move(event)); }
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
  void carry_out(SignalWorkers action);
  void carry_out(KillWorkers action) { act(action); }
  void carry_out(RunAfterHook action) { act(action); }
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
  bool carrying_ = false;  // an action is being carried out, until CarriedOut
  bool leaving_ = false;   // after that action this node enters the exit barrier
  bool telling_ = false;   // the session tells the others of a failure while other work goes on
  bool held_ = false;      // AllGone has come, but another node's failure may have been the first
  std::optional<Finish> ending_;
  Round round_;
  bool formed_ = false;
};

}  // namespace launch

// The life of one node of a job: events in, actions out. It decides when workers start, when they are stopped, what is
// told to the other nodes, and the exit code. It never signals, waits or talks: Node hands its actions to the
// session and to the host. One for the life of the process. Time is a parameter; the same events give the same actions.
#pragma once

#include "launch/core/agent/restart_policy.hpp"
#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/verdict/failure_report.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

namespace launch {

// One line each: clang-format would break them all.
// clang-format off

// Events.
struct RendezvousDone { Round round; };
struct RendezvousFailed { Error error; };
struct NotNeeded {};                       // a spare whose job has ended
struct StartFailed { Failure failure; };   // no further worker was started
struct WorkerExited { LocalRank local_rank{}; ExitStatus status; Failure failure; };  // failure: unless it ended well
struct SignalReceived {
  int signal = 0;
  std::string sender{};  // as a phrase; empty: not known
  int to_workers = signal;
};
struct Warned { int signal = 0; bool may_leave = false; };  // early, and so were the workers: they may save and end
struct GuardLost {};                       // the process that the user sees was killed: everything ends, now
struct PeerFailed { Failure failure; };    // the job's first failure, as the store has it
// The round breaks up, for another one; `grace`: that workers have at most, before the others go on.
struct MembersChanged { std::string reason; Duration grace = Duration::max(); };
// stood_still: for how long this process did not run before, if that is why. host_waits: its host does not end well
// before this node knows that all have.
struct StoreLost { std::string reason; Duration grace = Duration::max(); Duration stood_still{}; bool host_waits{}; };
struct StoodStill { Duration time; };      // this process, for so long that its guard has ended the workers
struct BarrierDone {};
struct AllGone {};                         // no process of this node's workers is left
struct Signalled {};                       // SignalWorkers was carried out: from now on the workers have their time
struct DeadlineReached {};                 // Agent::deadline()

// Actions, to be carried out in order.
// `restarts`: that the job has had, as far as this node knows. `admits`: nodes may come without ending the job;
// otherwise they wait.
struct StartRendezvous { int restarts = 0; bool admits = true; };
struct StopRendezvous {};
struct StartWorkers { Round round; };
struct GatherEvidence { bool stacks = false; };  // of what the workers are at; before they are told to end
// To every process group that is left. `reason`: empty if the workers ended well and left something behind.
struct SignalWorkers { int signal = 0; std::string reason{}; };
struct KillWorkers {};                     // SIGKILL to everything that is left
// Why all workers are restarted. `restart`: its number; 0: it costs none. `count`: "restart 1 of 3".
struct AnnounceRound { std::string reason; int restart = 0; std::string count{}; };
// Write the abort key if nobody has; what it then holds comes as PeerFailed, before AllGone is told. Beside what is
// carried out after it, but for Finish.
struct TellPeers { Failure failure; };
struct EnterBarrier {};

// clang-format on

// The end: what to report and to return.
struct Finish {
  int exit_code = 0;
  std::optional<Failure> first;   // why the job failed
  std::vector<WorkerEnd> others;  // workers of this node other than that
  bool left_behind = false;       // something outlived SIGKILL
};

using AgentEvent = std::variant<RendezvousDone, RendezvousFailed, NotNeeded, StartFailed, WorkerExited, SignalReceived,
                                Warned, GuardLost, PeerFailed, MembersChanged, StoreLost, StoodStill, BarrierDone,
                                AllGone, Signalled, DeadlineReached>;
using AgentAction = std::variant<StartRendezvous, StopRendezvous, AnnounceRound, StartWorkers, GatherEvidence,
                                 SignalWorkers, KillWorkers, TellPeers, EnterBarrier, Finish>;
using AgentActions = std::vector<AgentAction>;

struct AgentSettings {
  int nnodes = 1;
  NodeRank node_rank{};  // none: known only after the rendezvous
  int nproc = 1;
  std::string host;
  Duration shutdown_timeout{};
  Duration kill_grace{};
  RestartRules restarts{};
  bool evidence = false;  // is gathered after a failure
  bool stacks = false;    // always, too
  bool leaves = false;    // the others go on when this node is told to stop
};

// What each event means in each state. "-": nothing. "ends": TellPeers unless others told of it, StopRendezvous or
// SignalWorkers, then `stopping`, from where a failure to restart after leads back to `joining`. "anew": AnnounceRound,
// then `joining`, by way of `pausing` if there is a pause. "noted": it changes what comes later.
//
//                   joining   pausing   running       clearing   leaving       stopping        killing
// RendezvousDone    running   -         -             -          -             -               -
// RendezvousFailed  ends      -         ends          ends       ends          -               -
// NotNeeded         finished  -         -             -          -             -               -
// StartFailed       never     never     ends          never      never         -               -
// WorkerExited      never     never     ends (1)      never      never         noted           noted
// SignalReceived    ends      ends      ends          ends       ends          noted (2)       noted
// Warned            -         -         noted         noted      noted         noted           noted
// GuardLost         ends      ends      ends          ends       ends          killing         noted
// PeerFailed (3)    ends      ends (4)  ends          ends       ends          noted           noted
// MembersChanged    anew      -         stopping (5)  stopping   anew          noted           noted
// StoreLost         ends      ends      ends          ends       finished (6)  noted           noted
// StoodStill        -         -         stopping (7)  -          -             -               -
// BarrierDone       -         -         -             -          finished      -               -
// AllGone           -         -         -             leaving    -             anew, finished  anew, finished
// Signalled         -         -         -             noted      -             noted           -
// DeadlineReached   never     joining   stopping (5)  kills (8)  never         killing         as AllGone
//
// (1) If it failed; if it was the last one and all ended well: clearing. (2) A second Ctrl-C hurries, a third kills.
// (3) Of a lost node that the others go on without: as MembersChanged. (4) Unless it is the restart that this node is
// about to follow. (5) Put off until the deadline while workers heed an early warning; ends if it is one change too
// many. (6) Ends if the store's host waits for all. (7) Ends if the others cannot go on without this node. (8) What is
// left; the second time: as AllGone.
class Agent {
 public:
  explicit Agent(AgentSettings settings);

  AgentActions start(Time now);
  AgentActions on(const AgentEvent& event, Time now);
  // When DeadlineReached is to come.
  Time deadline() const { return deadline_; }
  // For those who watch: workers were told to end, and get SIGKILL at deadline().
  bool stopping() const { return state_ == State::stopping; }

 private:
  enum class State {
    joining,   // in the rendezvous
    pausing,   // before the next one
    running,   // workers run
    clearing,  // all workers ended well; what they left behind is told to end
    leaving,   // in the exit barrier
    stopping,  // workers were told to end
    killing,   // SIGKILL was sent
    finished,
  };

  AgentActions handle(const RendezvousDone& event, Time now);
  AgentActions handle(const RendezvousFailed& event, Time now);
  AgentActions handle(const NotNeeded& event, Time now);
  AgentActions handle(const StartFailed& event, Time now);
  AgentActions handle(const WorkerExited& event, Time now);
  AgentActions handle(const SignalReceived& event, Time now);
  AgentActions handle(const Warned& event, Time now);
  AgentActions handle(const GuardLost& event, Time now);
  AgentActions handle(const PeerFailed& event, Time now);
  AgentActions handle(const MembersChanged& event, Time now);
  AgentActions handle(const StoreLost& event, Time now);
  AgentActions handle(const StoodStill& event, Time now);
  AgentActions handle(const BarrierDone& event, Time now);
  AgentActions handle(const AllGone& event, Time now);
  AgentActions handle(const Signalled& event, Time now);
  AgentActions handle(const DeadlineReached& event, Time now);

  // Of the job, by the round and by the failure that led to it.
  int restarts() const { return std::max(round_.restarts, restarts_); }
  // After what is being stopped, the workers start anew.
  bool goes_on() const { return first_ ? first_->restart : changed_.has_value(); }
  // Nodes came or went; `cause` is the job's failure where that was once too often.
  struct Change {
    std::string reason;
    Failure cause;
  };
  AgentActions change(Change change, bool at_once, Time now);
  AgentActions follow(Change change, Time now);
  AgentActions put_off(Change change, Time now);
  void shorten_grace(Duration most, Time now);
  AgentActions start_anew(Time now);
  AgentActions end_beside_the_last();
  AgentActions wound_down(Time now);
  // A node whose workers end after an early warning leaves the others to themselves, if they can go on.
  Failure early_leave(int exit_code, const std::string& what) const;
  bool winding_down() const { return state_ == State::stopping || state_ == State::killing; }
  // The job has failed: stops what runs here, with `signal`, and tells the others when the news is ours.
  AgentActions fail(Failure failure, int signal, bool tell, Time now);
  bool wants_evidence(const Failure& failure) const;
  AgentActions stop(int signal, Time now);
  std::string stop_reason() const;
  AgentActions kill(Time now);
  AgentActions hurry(Time now);
  Finish finish();
  FailurePlace here() const;

  AgentSettings settings_;
  State state_ = State::joining;
  Time deadline_ = never;
  RestartPolicy policy_;
  Round round_;
  int restarts_ = 0;               // as the last failure that led to one says
  Time started_{};                 // the workers
  int running_ = 0;                // workers not yet seen to end
  Duration grace_;                 // of the workers, from the signal to SIGKILL
  Warned warning_;                 // signal 0: none has come
  std::optional<Change> put_off_;  // until the workers that were warned have ended
  bool hurried_ = false;           // by a second Ctrl-C
  bool kill_sent_ = false;
  bool left_behind_ = false;  // something outlived SIGKILL
  std::optional<Failure> first_;
  std::optional<std::string> changed_;  // why the round breaks up, where nothing has failed
  std::vector<WorkerEnd> ends_;
};

}  // namespace launch

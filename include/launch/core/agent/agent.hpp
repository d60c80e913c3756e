// One node's part in a job: events in, actions out. It decides when workers start, when they are stopped, what the
// other nodes are told, and the exit code. It never signals, waits or talks: Node passes its actions to the session and
// to the host. There is one for the life of the process. Time is a parameter; the same events give the same actions.
#pragma once

#include "launch/core/agent/restart_policy.hpp"
#include "launch/core/agent/worker_ends.hpp"
#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/verdict/failure_report.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace launch {

// Each stays on one line: clang-format would split them all.
// clang-format off

// Events.
struct RendezvousDone { Round round; };
struct RendezvousFailed { Error error; };
struct NotNeeded {};                       // this node is a spare, and the job has ended
struct StartFailed { Failure failure; };   // no further worker was started
struct WorkerExited {
  LocalRank local_rank{};
  ExitStatus status;
  Failure failure;          // only if it failed
  bool by_itself = false;   // it ended before the workers were told to end, though that is known only now
};
struct SignalReceived {
  int signal = 0;
  std::string sender{};  // a phrase for messages; empty: not known
  int to_workers = signal;
  bool lost = false;     // nobody wants the job to stop: launch --hosts has lost its connection to this node
  bool of_all = false;   // every node of the job is told to stop, so the others do not go on without this one
};
struct Warned { int signal = 0; bool may_leave = false; };  // early: the workers were warned too and may save and exit
struct GuardLost {};                       // the process that the user sees was killed: everything ends at once
struct PeerFailed { Failure failure; };    // the job's first failure, as it is in the store
// The round breaks up, and another one follows. `grace`: the most that the workers may take to exit, since the others
// go on after it; `may_save`: warned workers have that time, too, before they are told to exit. `excuses`: the failure
// of a worker that the others were to be told of is taken for a consequence: they have not heard of it, and need not.
struct MembersChanged {
  std::string reason;
  Duration grace = Duration::max();
  bool may_save = false, excuses = false;
};
// stood_still: how long this process was paused before, if that is the reason. host_waits: the store's host does not
// exit successfully before this node knows that all nodes have ended.
struct StoreLost { std::string reason; Duration grace = Duration::max(); Duration stood_still{}; bool host_waits{}; };
struct StoodStill { Duration time; };      // this process was paused for so long that its guard killed the workers
struct Hung { Failure failure; bool may_restart = false; };  // no worker of the job makes progress; told to one node
// What a user asks of this node, through launch-ctl: that the job restarts, or that this node leaves it, and the others
// go on. `by`: a phrase for messages.
struct RestartAsked { std::string by; };
struct LeaveAsked { std::string by; };
struct BarrierDone {};
struct AllGone {};                         // no process of this node's workers is left
struct HookEnded { bool left = false; };   // RunAfterHook is done. `left`: processes of it are left; otherwise: AllGone
struct Signalled {};                       // SignalWorkers is carried out: the workers' grace period starts now
struct DeadlineReached {};                 // the moment of Agent::deadline() has come

// Actions, which must be carried out in order. `restarts`: how many the job has had, as far as this node knows.
// `admits`: one more node may join without ending the job; otherwise nodes that join wait.
struct StartRendezvous { int restarts = 0; bool admits = true; };
struct StopRendezvous {};
struct StartWorkers { Round round; };
struct GatherEvidence { bool stacks = false; };  // about what the workers do; before they are told to exit
// Goes to every process group that is left. `reason`: empty if the workers ended well and left processes behind.
struct SignalWorkers { int signal = 0; std::string reason{}; };
struct KillWorkers {};                     // SIGKILL to everything that is left
// The user's command for when the workers are gone. `exit_code`: how they ended, as WorkerEnds::exit_code() says.
struct RunAfterHook { int exit_code = 0; };
// Why all workers are restarted. `restart`: its number; 0: it does not count as a restart. `count`: "restart 1 of 3".
// `asked`: by a user.
struct AnnounceRound { std::string reason; int restart = 0; std::string count{}; bool asked = false; };
// Writes the abort key unless another node has. What the key then holds comes as PeerFailed, before AllGone is told. It
// runs beside the actions that follow, except Finish, which waits for it.
struct TellPeers { Failure failure; };
struct EnterBarrier {};

// clang-format on

// The end: what to report and to return.
struct Finish {
  int exit_code = 0;
  std::optional<Failure> first;   // why the job failed
  std::vector<WorkerEnd> others;  // the other workers of this node
  bool left_behind = false;       // a process is still there after SIGKILL
  Time failed_at{};               // when this node learned of `first`
};

using AgentEvent = std::variant<RendezvousDone, RendezvousFailed, NotNeeded, StartFailed, WorkerExited, SignalReceived,
                                Warned, GuardLost, PeerFailed, MembersChanged, StoreLost, StoodStill, Hung,
                                RestartAsked, LeaveAsked, BarrierDone, AllGone, HookEnded, Signalled, DeadlineReached>;
using AgentAction = std::variant<StartRendezvous, StopRendezvous, AnnounceRound, StartWorkers, GatherEvidence,
                                 SignalWorkers, KillWorkers, RunAfterHook, TellPeers, EnterBarrier, Finish>;
using AgentActions = std::vector<AgentAction>;

struct AgentSettings {
  int nnodes = 1;
  NodeRank node_rank{};  // none: known only after the rendezvous
  int nproc = 1;
  std::string host;
  Duration shutdown_timeout{};
  Duration kill_grace{};
  bool after_hook = false;  // there is a command for when the workers are gone
  Duration hook_timeout{};  // of that command; zero: no limit
  RestartRules restarts{};
  bool evidence = false;  // it is gathered after a failure
  bool stacks = false;    // of Python, always; otherwise only when a hang is suspected
  bool leaves = false;    // the others go on if this node is told to stop
  int least_nodes = 1;    // that a round needs
  bool hosted = false;    // it is a node of launch --hosts, which tells its user how the node has ended
};

// What each event means in each state. "-": nothing. "ends": TellPeers unless another node told of it, then
// StopRendezvous or SignalWorkers, then `stopping`; if the failure is one to restart after, that leads back to
// `joining`. "rejoins": AnnounceRound, then `joining`; if there is a pause, `pausing` in between. "noted": it changes
// what happens later.
//
//                   joining   pausing   running       clearing   leaving       stopping           killing
// RendezvousDone    running   -         -             -          -             -                  -
// RendezvousFailed  ends      -         ends          ends       ends          -                  -
// NotNeeded         finished  -         -             -          -             -                  -
// StartFailed       never     never     ends          never      never         -                  -
// WorkerExited      never     never     ends (1)      never      never         noted              noted
// SignalReceived    ends      ends      ends          ends       ends          noted (2)          noted
// Warned            -         -         noted         noted      noted         noted              noted
// GuardLost         ends      ends      ends          ends       ends          killing            noted
// PeerFailed (3)    ends      ends (4)  ends          ends       ends          noted              noted
// MembersChanged    rejoins   -         stopping (5)  stopping   rejoins       noted (12)         noted (12)
// StoreLost         ends      ends      ends          ends       finished (6)  noted              noted
// StoodStill        -         -         stopping (7)  -          -             -                  -
// Hung              -         -         ends          -          ends          -                  -
// RestartAsked      -         -         ends (10)     ends       ends          -                  -
// LeaveAsked (11)   -         -         ends          -          -             noted              noted
// BarrierDone       -         -         -             -          finished      -                  -
// AllGone (9)       -         -         -             leaving    -             rejoins, finished  rejoins, finished
// HookEnded         -         -         -             noted      -             noted              noted
// Signalled         -         -         -             noted      -             noted              -
// DeadlineReached   never     joining   stopping (5)  kills (8)  never         killing            as AllGone
//
// (1) If it failed. If it was the last one and all ended well: clearing. (2) A second Ctrl-C leaves the workers less
// time, a third kills them; those that come in killing count for the after-hook. (3) If a node is lost and the others
// go on without it: as MembersChanged. (4) Unless it is the restart that this node is about to follow. (5) It waits
// until the deadline while workers act on an early warning; ends if it is one change too many. (6) Ends if the store's
// host waits for all. (7) Ends if the others cannot go on without this node. (8) What is left; the second time: as
// AllGone. (9) The first time the after-hook runs, if there is one, in clearing or stopping; what stops the job
// meanwhile does not stop the hook, except at the deadline. (10) That leads back to `joining` and counts as no restart.
// (11) Only if the others can go on without it; the exit code is 0. (12) If it excuses the failure: then that leads
// back to `joining`, unless this node was told to end meanwhile.
class Agent {
 public:
  explicit Agent(AgentSettings settings);

  AgentActions start(Time /*now*/) { return {StartRendezvous{0, policy_.admits_change()}}; }
  AgentActions on(const AgentEvent& event, Time now);
  // When DeadlineReached must come.
  Time deadline() const { return deadline_; }
  // For progress messages: workers were told to exit, and get SIGKILL at deadline().
  bool stopping() const { return state_ == State::stopping && hook_ != AfterHook::runs; }
  // For people: "running".
  std::string_view state() const { return state_names[static_cast<std::size_t>(state_)]; }
  // Why RestartAsked and LeaveAsked mean nothing now; nullopt: they do.
  std::optional<std::string> refuses_restart() const;
  std::optional<std::string> refuses_leave() const;
  // The other nodes of the round are too few: they wait for another one, unless it stands by.
  bool is_missed() const { return round_.assignment.group_world_size <= settings_.least_nodes; }
  // What to tell the user of a signal that stops the job, before it is handled. `sender`: as "from pid 7", or empty.
  std::string stop_text(int signal, std::string_view sender) const;

 private:
  enum class State {
    joining,   // in the rendezvous
    pausing,   // waits before it joins the next one
    running,   // workers run
    clearing,  // all workers ended well; processes that they left behind are told to exit
    leaving,   // in the exit barrier
    stopping,  // workers were told to exit
    killing,   // SIGKILL was sent
    finished,
  };
  // Of the workers of this round.
  enum class AfterHook {
    none,  // there is none, it has run, or it must not run
    due,   // it runs once the workers are gone
    runs,
  };
  static constexpr std::array<std::string_view, 8> state_names = {"joining", "pausing",  "running", "clearing",
                                                                  "leaving", "stopping", "killing", "finished"};

  AgentActions handle(const RendezvousDone& event, Time now);
  AgentActions handle(const RendezvousFailed& event, Time now) {
    if (winding_down() || state_ == State::pausing) return {};
    return fail(failure_of_rendezvous(here(), event.error), SIGTERM, true, now);
  }
  AgentActions handle(const NotNeeded& /*event*/, Time /*now*/) {
    return state_ == State::joining ? AgentActions{finish()} : AgentActions();
  }
  AgentActions handle(const StartFailed& event, Time now) {
    if (winding_down()) return {};  // the workers of the next round will fail to start, too
    assert(state_ == State::running);
    return fail(event.failure, SIGTERM, true, now);
  }
  AgentActions handle(const WorkerExited& event, Time now);
  AgentActions handle(const SignalReceived& event, Time now);
  // A warning is of use only to workers that run or are exiting.
  AgentActions handle(const Warned& event, Time /*now*/) {
    if (settings_.leaves && state_ != State::joining && state_ != State::pausing) warning_ = event;
    return {};
  }
  AgentActions handle(const GuardLost& event, Time now);
  AgentActions handle(const PeerFailed& event, Time now);
  AgentActions handle(const MembersChanged& event, Time now);
  AgentActions handle(const StoreLost& event, Time now);
  AgentActions handle(const StoodStill& event, Time now);
  AgentActions handle(const Hung& event, Time now) {
    const bool over = winding_down() || state_ == State::clearing || hook_ == AfterHook::runs;
    if (over || state_ == State::joining || state_ == State::pausing) return {};
    Failure failure = event.failure;
    if (!event.may_restart && settings_.restarts.max_restarts > 0) failure.why_final = "--on-hang=fail ends the job";
    return fail(std::move(failure), SIGTERM, true, now);
  }
  AgentActions handle(const RestartAsked& event, Time now);
  AgentActions handle(const LeaveAsked& event, Time now);
  AgentActions handle(const BarrierDone& /*event*/, Time /*now*/) {
    return state_ == State::leaving ? AgentActions{finish()} : AgentActions();
  }
  AgentActions handle(const AllGone& event, Time now);
  AgentActions handle(const HookEnded& event, Time now);
  AgentActions handle(const Signalled& /*event*/, Time now) {
    const bool waits = state_ == State::stopping || (state_ == State::clearing && !kill_sent_);
    if (waits && !hurried_) deadline_ = later(now, grace_);
    return {};
  }
  AgentActions handle(const DeadlineReached& event, Time now);

  // Restarts of the job: what the round says, or the failure that led to it if that says more.
  int restarts() const { return std::max(round_.restarts, restarts_); }
  // The workers restart once the present ones have ended.
  // What was granted while the workers ran is done, even if the round has broken up since.
  bool may_leave_now() const {
    const bool between_rounds = state_ == State::joining || state_ == State::pausing;
    return between_rounds ? settings_.leaves && round_.may_leave : !refuses_leave();
  }
  bool goes_on() const { return first_ ? first_->restart : changed_.has_value(); }
  // Nodes joined or left; `cause` is the job's failure if that was one change too many.
  struct Change {
    std::string reason;
    Failure cause;
  };
  AgentActions change(Change change, bool at_once, Time now);
  AgentActions excuse(Change change, Time now);
  bool may_be_excused() const { return winding_down() && first_ && first_->kind == Failure::Kind::worker; }
  AgentActions follow(Change change, Time now);
  AgentActions put_off(Change change, Time now);
  void shorten_grace(Duration most, Time now);
  // Of warned workers. If their time was cut, they must be told to exit before it is over.
  Duration time_to_save() const { return grace_ < settings_.shutdown_timeout ? grace_ * 9 / 10 : grace_; }
  AgentActions start_anew(Time now);
  AgentActions end_beside_the_last(Time now);
  AgentActions run_hook(Time now);
  void skip_hook() {
    if (hook_ == AfterHook::due) hook_ = AfterHook::none;
  }
  AnnounceRound restart_after(const Failure& failure, Time now);
  AgentActions wound_down(Time now);
  // A node whose workers end after an early warning leaves, and the others go on, if they can.
  Failure early_leave(int exit_code, const std::string& what) const;
  bool winding_down() const { return state_ == State::stopping || state_ == State::killing; }
  bool was_stopped(const WorkerExited& event) const {
    const bool by_ours = event.status.value == stop_signal_ || event.status.value == SIGKILL;
    return winding_down() && !event.by_itself && event.status.kind == ExitStatus::Kind::signalled && by_ours;
  }
  // The job has failed: stops what runs here, with `signal`. `tell`: the others do not know it yet, so they are told.
  AgentActions fail(Failure failure, int signal, bool tell, Time now);
  bool wants_evidence(const Failure& failure) const;
  // The workers have been told to end already; they would have been restarted.
  AgentActions leave_later(Failure why, Time now) {
    blame(std::move(why), now);
    return settings_.nnodes > 1 ? AgentActions{TellPeers{*first_}} : AgentActions{};
  }
  AgentActions stop(int signal, Time now);
  std::string stop_reason() const { return first_ ? describe(*first_) : changed_.value_or(""); }
  AgentActions kill(Time now) {
    state_ = State::killing;
    kill_sent_ = true;
    deadline_ = later(now, settings_.kill_grace);  // a process asleep in the kernel may never end; do not wait for it
    return {KillWorkers{}};
  }
  AgentActions hurry(Time now);
  void blame(Failure failure, Time now);
  Finish finish();
  FailurePlace here() const { return {round_.assignment.group_rank, settings_.host}; }

  AgentSettings settings_;
  State state_ = State::joining;
  Time deadline_ = never;
  RestartPolicy policy_;
  Round round_;
  int restarts_ = 0;               // as the last failure that led to a restart says
  Time started_{};                 // when the workers started
  int running_ = 0;                // workers that have not been seen to exit
  int stop_signal_ = 0;            // that the workers were sent
  Duration grace_;                 // of the workers, from the signal to SIGKILL
  Warned warning_;                 // signal 0: there was none
  std::optional<Change> put_off_;  // a change that waits until the warned workers have ended
  bool hurried_ = false;           // by a second Ctrl-C, or by one in killing
  bool kill_sent_ = false;
  bool left_behind_ = false;  // a process is still there after SIGKILL
  std::optional<Failure> first_;
  std::optional<Failure> told_to_end_;  // since then, while it is not one to restart after
  Time failed_at_{};                    // when this node learned that something has failed
  std::optional<std::string> changed_;  // why the round breaks up, if nothing has failed
  WorkerEnds ends_;
  AfterHook hook_ = AfterHook::none;
};

}  // namespace launch

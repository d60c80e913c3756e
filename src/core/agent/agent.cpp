#include "launch/core/agent/agent.hpp"

#include "launch/core/agent/agent_words.hpp"

#include <algorithm>
#include <cassert>
#include <csignal>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration hurried_grace = 3s;

}  // namespace

Agent::Agent(AgentSettings settings)
    : settings_(std::move(settings)), policy_(settings_.restarts), grace_(settings_.shutdown_timeout) {
  round_.assignment.group_rank = settings_.node_rank;
  round_.may_leave = settings_.leaves;  // nobody has counted on it yet
}

AgentActions Agent::on(const AgentEvent& event, Time now) {
  if (state_ == State::finished) return {};
  return std::visit([&](const auto& e) { return handle(e, now); }, event);
}

AgentActions Agent::handle(const RendezvousDone& event, Time now) {
  if (state_ != State::joining) return {};
  state_ = State::running;
  round_ = event.round;
  round_.restarts = restarts();
  started_ = now;
  running_ = settings_.nproc;
  hook_ = settings_.after_hook ? AfterHook::due : AfterHook::none;
  return {StartWorkers{round_}};
}

AgentActions Agent::handle(const WorkerExited& event, Time now) {
  assert((state_ == State::running || winding_down()) && running_ > 0);
  --running_;
  const GlobalRank rank = round_.assignment.base_global_rank + event.local_rank;
  const bool early = !winding_down() && event.status.ok();
  ends_.add({rank, event.local_rank, event.status, was_stopped(event), early, now});
  if (winding_down()) return {};
  if (!event.status.ok() && warning_.may_leave)
    return fail(early_leave(event.failure.exit_code, describe(event.failure)), SIGTERM, true, now);
  if (!event.status.ok()) return fail(event.failure, SIGTERM, true, now);
  if (running_ > 0) return {};
  AgentActions actions = stop(SIGTERM, now);
  state_ = State::clearing;
  return actions;
}

AgentActions Agent::handle(const SignalReceived& event, Time now) {
  Failure failure = failure_of_stop(here(), event, settings_.leaves && round_.may_leave);
  if (winding_down() && goes_on()) return leave_later(std::move(failure), now);
  if (winding_down()) told_to_end_ = failure;
  if (event.signal == SIGINT && state_ == State::killing) {
    if (hurried_) skip_hook();
    hurried_ = true;
    return {};
  }
  // A second Ctrl-C means "soon", a third "now". Schedulers repeat their SIGTERM, so a repeated one means nothing new.
  if (winding_down()) return event.signal == SIGINT && state_ == State::stopping ? hurry(now) : AgentActions{};
  return fail(std::move(failure), event.to_workers, true, now);
}

std::string Agent::stop_text(int signal, std::string_view sender) const {
  const bool stopped_already = winding_down() && !goes_on();
  return stop_words({signal, sender, stopped_already && state_ == State::stopping, hurried_,
                     !stopped_already && running_ > 0, hook_ == AfterHook::runs && state_ != State::killing},
                    hurried_grace);
}

Failure Agent::early_leave(int exit_code, const std::string& what) const {
  return failure_of_signal(here(), exit_code,
                           fmt::format("after an early warning by {}: {}", signal_name(warning_.signal), what));
}

AgentActions Agent::handle(const GuardLost& /*event*/, Time now) {
  skip_hook();
  Failure failure = failure_of_kill(here(), settings_.hosted && !(settings_.leaves && round_.may_leave));
  if (!winding_down()) return fail(std::move(failure), SIGKILL, true, now);
  AgentActions actions;
  if (state_ == State::stopping) actions = kill(now);
  if (!goes_on()) told_to_end_ = failure;
  if (!goes_on()) return actions;
  blame(std::move(failure), now);
  if (settings_.nnodes > 1) actions.push_back(TellPeers{*first_});
  return actions;
}

AgentActions Agent::handle(const PeerFailed& event, Time now) {
  // A lost node costs no restart: the others form a new round, with another node in its place or without.
  if (event.failure.kind == Failure::Kind::lost && event.failure.restart)
    return change({describe(event.failure), event.failure}, false, now);
  if (winding_down()) {
    // The store got it before ours. But a failure that ends the job stays, even if the store got a restart before it.
    const bool final = first_ && !first_->restart;
    if (!final || !event.failure.restart) blame(event.failure, now);
    return {};
  }
  if (state_ == State::pausing && event.failure.restart) return {};  // the restart that this node is about to follow
  return fail(event.failure, SIGTERM, false, now);
}

AgentActions Agent::handle(const MembersChanged& event, Time now) {
  Failure cause = failure_of_lost_node({}, event.reason);  // it may be any of the nodes
  shorten_grace(event.grace, now);
  if (event.excuses && may_be_excused()) return excuse({event.reason, std::move(cause)}, now);
  return change({event.reason, std::move(cause)}, event.grace != Duration::max() && !event.may_save, now);
}

AgentActions Agent::change(Change change, bool at_once, Time now) {
  if (winding_down() || state_ == State::pausing) return {};
  if (warning_.signal != 0 && !at_once) return put_off(std::move(change), now);
  return follow(std::move(change), now);
}

AgentActions Agent::follow(Change change, Time now) {
  const auto refusal = state_ == State::running ? policy_.refuses_change() : std::nullopt;
  if (refusal) {
    change.cause.restart = false;
    change.cause.why_final = *refusal;
    return fail(std::move(change.cause), SIGTERM, true, now);
  }
  changed_ = std::move(change.reason);
  if (state_ == State::joining || state_ == State::leaving) return start_anew(now);
  return stop(SIGTERM, now);
}

AgentActions Agent::excuse(Change change, Time now) {
  first_.reset();
  changed_ = std::move(change.reason);
  if (auto told = std::exchange(told_to_end_, std::nullopt)) return leave_later(*std::move(told), now);
  const auto refusal = policy_.refuses_change();
  if (!refusal) return {};
  change.cause.restart = false;
  change.cause.why_final = *refusal;
  return leave_later(std::move(change.cause), now);
}

// If all nodes are warned, the first one that has saved must not cost the others their time to save.
AgentActions Agent::put_off(Change change, Time now) {
  if (state_ == State::leaving && !warning_.may_leave) return {finish()};
  if (state_ == State::leaving) return {TellPeers{early_leave(0, "its workers have ended")}, finish()};
  if (put_off_) return {};
  put_off_ = std::move(change);
  if (state_ == State::running) deadline_ = later(now, time_to_save());
  return {};
}

void Agent::shorten_grace(Duration most, Time now) {
  if (most == Duration::max()) return;
  grace_ = std::min(grace_, most);
  const bool saves = state_ == State::running && put_off_;
  if (saves || (state_ == State::stopping && hook_ != AfterHook::runs))
    deadline_ = std::min(deadline_, later(now, saves ? time_to_save() : grace_));
}

AgentActions Agent::handle(const StoreLost& event, Time now) {
  shorten_grace(event.grace, now);
  if (winding_down()) {
    if (goes_on()) blame(failure_of_store(here(), lost_store_words(event, settings_.node_rank.known())), now);
    return {};
  }
  // torchrun's host leaves as soon as all have passed the barrier; its answer to us may have been on its way.
  if (state_ == State::leaving && !event.host_waits) return handle(BarrierDone{}, now);
  return fail(failure_of_store(here(), lost_store_words(event, settings_.node_rank.known())), SIGTERM, false, now);
}

AgentActions Agent::handle(const StoodStill& event, Time now) {
  if (state_ != State::running) return {};
  const std::string what = fmt::format("was frozen for {}, so its guard ended the workers", to_text(event.time));
  Failure cause = failure_of_lost_node(here(), "its launch process " + what);
  if (settings_.leaves) return change({"this launch " + what, std::move(cause)}, true, now);
  return fail(std::move(cause), SIGTERM, true, now);
}

std::optional<std::string> Agent::refuses_restart() const {
  const bool has_round = state_ == State::running || state_ == State::clearing || state_ == State::leaving;
  if (!has_round) return fmt::format("this node is {}", state());
  if (!round_.can_restart) return "a torchrun node cannot restart with the others";
  return std::nullopt;
}

std::optional<std::string> Agent::refuses_leave() const {
  if (state_ != State::running && !(winding_down() && goes_on())) return fmt::format("this node is {}", state());
  return needed_words(settings_.leaves, round_.may_leave, state_ != State::running || policy_.admits_change());
}

AgentActions Agent::handle(const RestartAsked& event, Time now) {
  if (refuses_restart()) return {};
  Failure asked = restart_asked_for(here(), fmt::format("a restart was asked for by {}", event.by));
  asked.restarts = round_.restarts;
  return fail(std::move(asked), SIGTERM, true, now);
}

AgentActions Agent::handle(const LeaveAsked& event, Time now) {
  if (!may_leave_now()) return {};
  Failure why = failure_of_signal(here(), 0, fmt::format("this node was drained by {}", event.by));
  if (!winding_down()) return fail(std::move(why), SIGTERM, true, now);
  return leave_later(std::move(why), now);
}

AgentActions Agent::handle(const AllGone& /*event*/, Time now) {
  if (hook_ == AfterHook::runs) return {};  // it was told before the hook began
  if (hook_ == AfterHook::due && (winding_down() || state_ == State::clearing)) return run_hook(now);
  if (winding_down()) return wound_down(now);
  if (state_ != State::clearing) return {};
  deadline_ = never;
  if (settings_.nnodes == 1) return {finish()};
  if (warning_.may_leave) return {TellPeers{early_leave(0, "its workers have ended")}, finish()};
  if (put_off_) return {finish()};
  state_ = State::leaving;
  return {EnterBarrier{}};
}

// The deadline is for what outlives the time-out of the hook, which is killed then. After a second Ctrl-C it gets no
// more time than the workers.
AgentActions Agent::run_hook(Time now) {
  hook_ = AfterHook::runs;
  kill_sent_ = false;
  if (state_ == State::killing) state_ = State::stopping;
  const bool endless = settings_.hook_timeout == Duration::zero();
  deadline_ = endless ? never : later(now, settings_.hook_timeout + settings_.kill_grace);
  if (hurried_) deadline_ = std::min(deadline_, later(now, hurried_grace));
  return {RunAfterHook{ends_.exit_code(settings_.nproc, round_.assignment.group_rank, first_)}};
}

AgentActions Agent::handle(const HookEnded& event, Time now) {
  if (hook_ != AfterHook::runs) return {};
  hook_ = AfterHook::none;
  if (state_ == State::killing) return {};
  deadline_ = later(now, grace_);
  if (!event.left) return {};
  return {SignalWorkers{SIGTERM, stop_reason()}};
}

AgentActions Agent::handle(const DeadlineReached& /*event*/, Time now) {
  if (now < deadline_) return {};  // the deadline was moved meanwhile
  deadline_ = never;
  if (state_ == State::pausing) {
    state_ = State::joining;
    return {StartRendezvous{restarts(), policy_.admits_change()}};
  }
  if (state_ == State::running) {
    assert(put_off_);
    Change change = *std::exchange(put_off_, std::nullopt);
    warning_ = {};  // no worker has acted on it
    return follow(std::move(change), now);
  }
  if (state_ == State::stopping) return kill(now);
  if (state_ == State::clearing && !kill_sent_) {
    AgentActions actions = kill(now);
    state_ = State::clearing;
    return actions;
  }
  assert(state_ == State::clearing || state_ == State::killing);
  left_behind_ = true;
  hook_ = AfterHook::none;
  return handle(AllGone{}, now);
}

AgentActions Agent::wound_down(Time now) {
  if (!goes_on()) return {finish()};
  if (!left_behind_ && warning_.may_leave) {
    first_.reset();
    return {TellPeers{early_leave(0, "its workers have ended")}, finish()};
  }
  return start_anew(now);
}

// The processes that are left would run beside the new workers.
AgentActions Agent::end_beside_the_last(Time now) {
  blame(failure_of_start(here(), "processes of the last workers outlived SIGKILL, so the workers are not restarted"),
        now);
  AgentActions actions;
  if (settings_.nnodes > 1) actions.push_back(TellPeers{*first_});
  actions.push_back(finish());
  return actions;
}

// A restart that a user asks for does not count.
AnnounceRound Agent::restart_after(const Failure& failure, Time now) {
  if (failure.kind == Failure::Kind::asked) {
    restarts_ = std::max(round_.restarts, failure.restarts);
    return {describe(failure), 0, {}, true};
  }
  restarts_ = std::max(round_.restarts + 1, failure.restarts);
  return {describe(failure), restarts_, policy_.restarted(restarts_, now)};
}

AgentActions Agent::start_anew(Time now) {
  if (left_behind_) return end_beside_the_last(now);
  const Duration lived = now - started_;
  AgentActions actions;
  if (state_ == State::joining) actions.push_back(StopRendezvous{});
  if (first_) {
    actions.push_back(restart_after(*first_, now));
  } else {
    actions.push_back(AnnounceRound{*changed_, 0});
  }
  const bool ours = first_ && first_->kind != Failure::Kind::asked && first_->node_rank == round_.assignment.group_rank;
  const Duration pause = ours ? policy_.pause(lived) : Duration();
  first_.reset();
  told_to_end_.reset();
  changed_.reset();
  ends_.clear();
  kill_sent_ = hurried_ = false;
  grace_ = settings_.shutdown_timeout;
  warning_ = {};
  put_off_.reset();
  state_ = State::joining;
  deadline_ = never;
  if (pause == Duration::zero()) {
    actions.push_back(StartRendezvous{restarts(), policy_.admits_change()});
  } else {
    state_ = State::pausing;
    deadline_ = later(now, pause);
  }
  return actions;
}

AgentActions Agent::fail(Failure failure, int signal, bool tell, Time now) {
  if (first_) return {};
  const bool ours = tell && concerns_workers(failure) && failure.why_final.empty();
  if (ours && state_ != State::joining) policy_.judge(failure, round_, now - started_, now);
  blame(std::move(failure), now);
  changed_.reset();
  const bool joining = state_ == State::joining || state_ == State::pausing;
  const bool leaving = state_ == State::leaving;
  const bool tells = tell && settings_.nnodes > 1;
  if (first_->restart && (joining || (leaving && !tells))) return start_anew(now);
  AgentActions actions;
  if (joining) actions.push_back(StopRendezvous{});
  const bool evidence = state_ == State::running && signal != SIGKILL && wants_evidence(*first_);
  const bool stacks = evidence && (settings_.stacks || smells_of_hang(*first_));
  // The others must not wait for evidence, or for workers that save. But SIGKILL is sent before they are told.
  const bool tells_first = tells && signal != SIGKILL;
  if (tells_first) actions.push_back(TellPeers{*first_});
  if (evidence) actions.push_back(GatherEvidence{stacks});
  if (!joining && !leaving) {
    const AgentActions stopping = stop(signal, now);
    actions.insert(actions.end(), stopping.begin(), stopping.end());
  }
  if (tells && !tells_first) actions.push_back(TellPeers{*first_});
  if (joining || leaving) {
    state_ = State::stopping;  // until AllGone, which comes at once: nothing runs here
    deadline_ = later(now, settings_.shutdown_timeout);
    actions.push_back(SignalWorkers{signal, stop_reason()});
  }
  return actions;
}

// A user who stops a job knows why, and does not want to wait.
bool Agent::wants_evidence(const Failure& failure) const {
  using enum Failure::Kind;
  if (failure.kind == signal) return settings_.stacks;
  return settings_.evidence && (failure.kind == worker || failure.kind == lost || failure.kind == hang);
}

AgentActions Agent::stop(int signal, Time now) {
  if (hook_ == AfterHook::runs && signal != SIGKILL) {
    state_ = State::stopping;
    return {};
  }
  if (grace_ == Duration::zero()) return kill(now);
  state_ = State::stopping;
  stop_signal_ = signal;
  deadline_ = later(now, grace_);
  return {SignalWorkers{signal, stop_reason()}};
}

AgentActions Agent::hurry(Time now) {
  if (hurried_) skip_hook();
  if (hurried_) return kill(now);
  hurried_ = true;
  deadline_ = std::min(deadline_, later(now, hurried_grace));
  return {};
}

void Agent::blame(Failure failure, Time now) {
  if (!first_) failed_at_ = now;
  first_ = std::move(failure);
}

Finish Agent::finish() {
  state_ = State::finished;
  deadline_ = never;
  if (first_ && first_->exit_code == 0) first_.reset();  // this node was asked to leave
  return {first_ ? first_->exit_code : 0, first_, ends_.others(round_.assignment.group_rank, first_), left_behind_,
          failed_at_};
}

}  // namespace launch

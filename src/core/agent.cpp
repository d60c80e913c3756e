#include "launch/core/agent.hpp"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

// After SIGKILL a process needs a moment; one in an uninterruptible sleep may never end, and does not hold us up.
constexpr Duration after_kill = 5s;

}  // namespace

AgentActions Agent::start(Time /*now*/) { return {StartRendezvous{}}; }

AgentActions Agent::on(const AgentEvent& event, Time now) {
  if (state_ == State::finished) return {};
  return std::visit([&](const auto& e) { return handle(e, now); }, event);
}

AgentActions Agent::on_deadline(Time now) {
  deadline_ = never;
  if (state_ == State::stopping) return kill(now);
  if (state_ == State::clearing && !kill_sent_) {
    AgentActions actions = kill(now);
    state_ = State::clearing;
    return actions;
  }
  left_behind_ = true;
  return handle(AllGone{}, now);
}

AgentActions Agent::handle(const RendezvousDone& event, Time /*now*/) {
  if (state_ != State::joining) return {};
  state_ = State::running;
  assignment_ = event.assignment;
  running_ = settings_.nproc;
  return {StartWorkers{assignment_}};
}

AgentActions Agent::handle(const RendezvousFailed& event, Time now) {
  if (state_ != State::joining) return {};
  return fail(make_failure(Failure::Kind::rendezvous, exit_code(event.error.code), event.error.message), SIGTERM, true,
              now);
}

AgentActions Agent::handle(const StartFailed& event, Time now) { return fail(event.failure, SIGTERM, true, now); }

AgentActions Agent::handle(const WorkerExited& event, Time now) {
  --running_;
  const int rank = assignment_.base_global_rank + event.local_rank;
  const bool stopped = winding_down() && event.status.kind == ExitStatus::Kind::signalled;
  ends_.push_back(WorkerEnd{rank, event.local_rank, event.status, stopped});
  if (winding_down()) return {};
  if (!event.status.ok()) return fail(event.failure, SIGTERM, true, now);
  if (running_ > 0) return {};
  AgentActions actions = stop(SIGTERM, now);
  state_ = State::clearing;
  return actions;
}

AgentActions Agent::handle(const SignalReceived& event, Time now) {
  // A second Ctrl-C means: now. Schedulers repeat their SIGTERM, so that one says nothing new.
  if (winding_down()) return event.signal == SIGINT && state_ == State::stopping ? kill(now) : AgentActions{};
  return fail(make_failure(Failure::Kind::signal, 128 + event.signal,
                           fmt::format("launch was told to stop by {}", signal_name(event.signal))),
              event.signal, true, now);
}

AgentActions Agent::handle(const PeerFailed& event, Time now) {
  if (winding_down()) {
    first_ = event.failure;  // the store saw it before ours
    return {};
  }
  return fail(event.failure, SIGTERM, false, now);
}

AgentActions Agent::handle(const StoreLost& event, Time now) {
  if (winding_down()) return {};
  // The host leaves as soon as all have passed the barrier; our answer may have been on its way.
  if (state_ == State::leaving) return handle(BarrierDone{}, now);
  return fail(
      make_failure(Failure::Kind::store, 1,
                   fmt::format("the store of node 0 went away ({}); without it no worker can go on", event.reason)),
      SIGTERM, false, now);
}

AgentActions Agent::handle(const BarrierDone& /*event*/, Time /*now*/) {
  if (state_ != State::leaving) return {};
  return {finish()};
}

AgentActions Agent::handle(const AllGone& /*event*/, Time /*now*/) {
  if (winding_down()) return {finish()};
  if (state_ != State::clearing) return {};
  deadline_ = never;
  if (first_ || settings_.nnodes == 1) return {finish()};
  state_ = State::leaving;
  return {EnterBarrier{}};
}

AgentActions Agent::fail(Failure failure, int signal, bool tell, Time now) {
  if (first_) return {};
  first_ = std::move(failure);
  AgentActions actions;
  const bool joining = state_ == State::joining;
  const bool leaving = state_ == State::leaving;
  if (joining) actions.push_back(StopRendezvous{});
  if (!joining && !leaving) actions = stop(signal, now);
  if (tell && settings_.nnodes > 1) actions.push_back(TellPeers{*first_});
  if (joining || leaving) {
    state_ = State::stopping;  // until AllGone, which comes at once: nothing runs here
    deadline_ = later(now, settings_.shutdown_timeout);
    actions.push_back(SignalWorkers{signal});
  }
  return actions;
}

AgentActions Agent::stop(int signal, Time now) {
  if (settings_.shutdown_timeout == Duration::zero()) return kill(now);
  state_ = State::stopping;
  deadline_ = later(now, settings_.shutdown_timeout);
  return {SignalWorkers{signal}};
}

AgentActions Agent::kill(Time now) {
  state_ = State::killing;
  kill_sent_ = true;
  deadline_ = later(now, after_kill);
  return {KillWorkers{}};
}

Finish Agent::finish() {
  state_ = State::finished;
  deadline_ = never;
  Finish result{first_ ? first_->exit_code : 0, first_, {}, left_behind_};
  for (const WorkerEnd& end : ends_) {
    const bool is_first = first_ && first_->rank == end.rank && first_->node_rank == settings_.node_rank;
    if (!is_first) result.others.push_back(end);
  }
  std::sort(result.others.begin(), result.others.end(),
            [](const WorkerEnd& a, const WorkerEnd& b) { return a.rank < b.rank; });
  return result;
}

Failure Agent::make_failure(Failure::Kind kind, int exit_code, std::string what) const {
  Failure failure;
  failure.kind = kind;
  failure.exit_code = exit_code;
  failure.node_rank = settings_.node_rank;
  failure.host = settings_.host;
  failure.what = std::move(what);
  return failure;
}

}  // namespace launch

#include "launch/core/rendezvous/exit_barrier.hpp"

#include "launch/core/store/keys.hpp"

#include <algorithm>

namespace launch {
namespace {

constexpr Duration first_barrier_report = std::chrono::seconds(1);
constexpr Duration barrier_answer_time = std::chrono::seconds(60);

}  // namespace

ExitBarrier::ExitBarrier(std::string run_id, int nnodes, std::optional<Duration> patience, Duration report_interval)
    : run_id_(std::move(run_id)), nnodes_(nnodes), patience_(patience), report_interval_(report_interval) {}

BarrierStep ExitBarrier::start(Time now) {
  if (patience_) give_up_ = later(now, *patience_);
  report_ = later(now, first_barrier_report);
  deadline_ = later(now, barrier_answer_time);
  return {AddNumber{ended_count_key(run_id_), 1}, std::nullopt};
}

BarrierStep ExitBarrier::on(const Outcome& outcome, Time now) {
  switch (state_) {
    case State::counting:
      return std::get<Number>(outcome).value < nnodes_ ? wait(now) : tell(now);
    case State::telling:
      return check(now);
    case State::checking:
      return {BarrierPassed{everybody_, std::get<Presence>(outcome).present.at(0)}, std::nullopt};
    case State::waiting:
      if (std::holds_alternative<Done>(outcome)) return check(now);
      if (now >= give_up_) {
        everybody_ = false;  // the others must leave as well, since their store may end now
        return tell(now);
      }
      state_ = State::looking;
      deadline_ = later(now, barrier_answer_time);
      return {AddNumber{ended_count_key(run_id_), 0}, std::nullopt};
    case State::looking: {
      // The last node has counted itself, and may be gone.
      if (std::get<Number>(outcome).value >= nnodes_) return tell(now);
      report_ = later(now, report_interval_);
      BarrierStep step = wait(now);
      step.arrived = static_cast<int>(std::get<Number>(outcome).value);
      return step;
    }
  }
  return {BarrierPassed{false}, std::nullopt};
}

// Not by SET, which has no answer: if the store is lost now, the others do not know that all have ended, so this node
// must not end well.
BarrierStep ExitBarrier::tell(Time now) {
  state_ = State::telling;
  deadline_ = later(now, barrier_answer_time);
  return {CompareSet{all_ended_key(run_id_), "", "<val_ignored>"}, std::nullopt};
}

// If a node is lost after it has counted itself, its will has told of a failure, unless all had ended before
// (Will::Word). So every node goes by what was first in the store.
BarrierStep ExitBarrier::check(Time now) {
  state_ = State::checking;
  deadline_ = later(now, barrier_answer_time);
  return {CheckKeys{{abort_key(run_id_)}}, std::nullopt};
}

BarrierStep ExitBarrier::wait(Time now) {
  state_ = State::waiting;
  deadline_ = std::min(give_up_, std::max(report_, now));
  return {AwaitKeys{{all_ended_key(run_id_)}}, std::nullopt};
}

}  // namespace launch

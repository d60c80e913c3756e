#include "launch/core/exit_barrier.hpp"

#include <fmt/format.h>

namespace launch {

std::string ExitBarrier::key(const char* rest) const {
  return fmt::format("/{}/torchelastic/agent/terminal_state/{}", run_id_, rest);
}

BarrierStep ExitBarrier::start(Time now) {
  deadline_ = later(now, exit_barrier_timeout);
  return Operation(AddNumber{key("num_members"), 1});
}

BarrierStep ExitBarrier::on(const Outcome& outcome, Time /*now*/) {
  if (const auto* count = std::get_if<Number>(&outcome); count != nullptr && count->value == nnodes_)
    return Operation(SetKeys{{{key("last_member"), "<val_ignored>"}}});
  if (!waiting_) {
    waiting_ = true;
    return Operation(AwaitKeys{{key("last_member")}});
  }
  return BarrierPassed{std::holds_alternative<Done>(outcome)};
}

}  // namespace launch

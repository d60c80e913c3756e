// torchrun's exit barrier: every node whose workers succeeded counts itself, the last one says so, all wait for that.
// It keeps the node that hosts the store alive for the workers of slower nodes. Keys as in docs/store_protocol.md.
#pragma once

#include "launch/core/store_operation.hpp"
#include "launch/core/time.hpp"

#include <string>
#include <variant>

namespace launch {

// torchrun waits this long for the others and then leaves all the same.
inline constexpr Duration exit_barrier_timeout = std::chrono::seconds(300);

struct BarrierPassed {
  bool everybody = true;  // false: the time-out came first
};

using BarrierStep = std::variant<Operation, BarrierPassed>;

class ExitBarrier {
 public:
  ExitBarrier(std::string run_id, int nnodes) : run_id_(std::move(run_id)), nnodes_(nnodes) {}

  BarrierStep start(Time now);
  BarrierStep on(const Outcome& outcome, Time now);
  Time deadline() const { return deadline_; }

 private:
  std::string key(const char* rest) const;

  std::string run_id_;
  int nnodes_;
  bool waiting_ = false;
  Time deadline_ = never;
};

}  // namespace launch

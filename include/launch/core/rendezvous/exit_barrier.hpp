// torchrun's exit barrier: every node whose workers succeeded counts itself, the last one says that all have, and all
// wait for that. It keeps the node that hosts the store alive for the workers of slower nodes. The keys are in
// docs/store_protocol.md. A machine: it sends nothing and knows no clock.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/store/store_operation.hpp"

#include <optional>
#include <string>
#include <variant>

namespace launch {

// torchrun waits this long for the others, and then leaves without them.
inline constexpr Duration exit_barrier_timeout = std::chrono::seconds(300);

struct BarrierPassed {
  bool everybody = true;  // false: the time-out came first
  bool failed = false;    // the round had failed before all nodes had arrived: nobody passes
};

struct BarrierStep {
  std::variant<Operation, BarrierPassed> next;
  std::optional<int> arrived;  // for a line to the user: how many nodes have ended
};

class ExitBarrier {
 public:
  // `patience`: how long to wait; nullopt: for ever. torchrun's agents may die without a word, so a job that has some
  // must not wait for ever.
  // `report_interval`: between two lines to the user.
  ExitBarrier(std::string run_id, int nnodes, std::optional<Duration> patience, Duration report_interval);

  BarrierStep start(Time now);
  BarrierStep on(const Outcome& outcome, Time now);
  Time deadline() const { return deadline_; }
  int nnodes() const { return nnodes_; }
  // If the store is lost now, all nodes have arrived, and this node has heard of no failure.
  bool have_all_come() const { return state_ == State::checking; }

 private:
  BarrierStep wait(Time now);
  BarrierStep tell(Time now);
  BarrierStep check(Time now);

  std::string run_id_;
  int nnodes_;
  std::optional<Duration> patience_;
  Duration report_interval_;
  enum class State {
    counting,
    telling,  // the others that they may leave
    waiting,
    looking,   // how many nodes have arrived
    checking,  // whether a node was lost before the last one arrived
  };
  State state_ = State::counting;
  bool everybody_ = true;
  Time give_up_ = never;
  Time report_ = never;
  Time deadline_ = never;
};

}  // namespace launch

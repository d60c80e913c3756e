// The user's rules: after which ends of a worker the workers are restarted, and how often. Made once from the options;
// RestartPolicy decides by them. They are the same on every node only if the user gave the same options there, since
// each node judges its own workers.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <optional>
#include <set>

namespace launch {

// Ends of a worker, for --restart-on and --fail-on: exit codes, 128 + signal, and `start` for one that did not start.
struct EndSet {
  std::set<int> codes;
  bool start = false;

  bool empty() const { return codes.empty() && !start; }
  bool contains(const Failure& failure) const;
};

struct RestartRules {
  int max_restarts = 0;
  Duration window = Duration::zero();          // only restarts within it count; zero: all do
  EndSet restart_on;                           // empty: any end
  EndSet fail_on;                              // wins over restart_on
  bool repeat_errors = false;                  // restart even if the same Python exception comes again and again
  std::optional<int> max_membership_restarts;  // because nodes joined or left; nullopt: any number
};

}  // namespace launch

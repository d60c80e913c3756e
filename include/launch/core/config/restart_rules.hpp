// After which ends the workers are restarted, and how often: what the user asked for. Settled once from the options;
// RestartPolicy decides by it. The same on every node only if the user gave the same options there: each judges its own
// workers.
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
  bool repeat_errors = false;                  // go on although the same Python exception comes again and again
  std::optional<int> max_membership_restarts;  // because nodes came or went; nullopt: any number
};

}  // namespace launch

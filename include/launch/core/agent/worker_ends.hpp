// How the workers of this node ended in one round, in the order in which they did. Agent keeps one: the end of the job
// is reported from it, and the user's command after the workers is told their exit code. It knows only the ends that it
// was given, and never decides what they mean for the job.
#pragma once

#include "launch/core/verdict/account.hpp"
#include "launch/core/verdict/failure_report.hpp"

#include <optional>
#include <vector>

namespace launch {

class WorkerEnds {
 public:
  void add(const WorkerEnd& end) { ends_.push_back(end); }
  void clear() { ends_.clear(); }

  // All of them by rank, except the worker that `first`, the job's failure, is about, if that was on `node`.
  std::vector<WorkerEnd> others(NodeRank node, const std::optional<Failure>& first) const;

  // One exit code for all `count` workers of `node`: 0 if all ended well. If `first` happened here: its code. Otherwise
  // that of the first worker that did not end well, or, if some were never started, 143, as if they had been stopped.
  int exit_code(int count, NodeRank node, const std::optional<Failure>& first) const;

 private:
  std::vector<WorkerEnd> ends_;
};

}  // namespace launch

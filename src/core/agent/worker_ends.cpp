#include "launch/core/agent/worker_ends.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <iterator>

namespace launch {

std::vector<WorkerEnd> WorkerEnds::others(NodeRank node, const std::optional<Failure>& first) const {
  std::vector<WorkerEnd> result;
  const bool here = first && first->node_rank == node;
  std::copy_if(ends_.begin(), ends_.end(), std::back_inserter(result),
               [&](const WorkerEnd& end) { return !here || first->rank != end.rank; });
  std::sort(result.begin(), result.end(), [](const WorkerEnd& a, const WorkerEnd& b) { return a.rank < b.rank; });
  return result;
}

int WorkerEnds::exit_code(int count, NodeRank node, const std::optional<Failure>& first) const {
  const bool of_workers = first && (first->kind == Failure::Kind::worker || first->kind == Failure::Kind::start);
  if (of_workers && first->node_rank == node) return first->exit_code;
  const auto failed = std::find_if(ends_.begin(), ends_.end(), [](const WorkerEnd& end) { return !end.status.ok(); });
  if (failed != ends_.end()) return launch::exit_code(failed->status);
  return ends_.size() == static_cast<std::size_t>(count) ? 0 : 128 + SIGTERM;
}

}  // namespace launch

// Fills what the user has not given with what a scheduler says of the start (core/cluster), and refuses what the two
// contradict each other about. Called before settle(). A job that the user has described completely is left alone:
// whoever does so may start several jobs in one step, or know better than the scheduler.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"
#include "launch/core/options/options.hpp"

#include <string>
#include <vector>

namespace launch {

struct ClusterUse {
  std::string told;                  // what was taken from the scheduler, one line for the user; empty: nothing was
  std::vector<std::string> notices;  // why it was not, if the user should know
  std::vector<std::string> found;    // what is there of a scheduler, for --explain
};

// As --cluster wants it.
Result<ClusterUse> use_cluster(const Environment& env, const ProcessFacts& process, Options& options);
// The same for what is already known.
Result<ClusterUse> use_cluster(const ClusterView& view, Options& options);

}  // namespace launch

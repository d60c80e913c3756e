// Fills what the user has not given with what a scheduler says of the start (core/cluster), and refuses what the two
// contradict each other about. Called before settle(). A job that the user has described completely is left alone:
// whoever does so may start several jobs in one step, or know better than the scheduler.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/cluster/cluster_start.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace launch {

struct ClusterUse {
  std::string told;                  // what was taken from the scheduler, one line for the user; empty: nothing was
  std::vector<std::string> notices;  // why it was not, if the user should know
  std::vector<std::string> found;    // what is there of a scheduler, for --explain
  std::vector<std::uint16_t> ports;  // that node 0 may take, if nobody has given one
  bool shares_console = false;       // what the nodes write ends in one place
  bool strips_identity = false;      // workers must not be taken for the rank that this launch was started as
  bool has_ranks = false;            // launch was started as a rank, as by MPI
  std::optional<TaskPlace> place;    // there if this launch is one of several on its node, with one worker
};

// What is there, as far as --cluster wants it.
Result<ClusterView> find_cluster(const Environment& env, const ProcessFacts& process, const Options& options);
// Whether it has to be asked from the server that the starter keeps for its ranks where node 0 is.
bool must_ask_server(const ClusterView& view, const Options& options);
// How long that may take.
Duration longest_wait(const Options& options);
Result<ClusterUse> use_cluster(const ClusterView& view, Options& options);
// What workers get, after settle(): without what the starter says about one rank alone, where that would be wrong.
Environment worker_environment(const ClusterUse& use, const Options& options, const Config& config);
// After settle(): an error if an option speaks of several workers, and each of several launches on a node has one.
Status check_place(const ClusterUse& use, const Options& options, const Config& config);

}  // namespace launch

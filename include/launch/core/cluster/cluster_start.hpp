// What a scheduler says of the start of this launch: how many nodes it started launch on, which of them this is, and
// where the first one is. Found in the environment, and held against what is known of this process, because variables
// are inherited for longer than they are true. Pure: io/process_facts looks, config/cluster_settings makes settings of
// it. No program of the scheduler is asked.
//
// Source: what Slurm 22.05 sets, as recorded in tests/support/slurm.hpp.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/base/error.hpp"
#include "launch/core/job/rank.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace launch {

struct Ancestor {
  int pid = 0;
  std::string command;  // its command line, its words separated by blanks; empty if it cannot be read
};

struct ProcessFacts {
  int pid = 0;
  std::vector<Ancestor> ancestors;  // the parent first, as far as they can be seen
  std::string cgroup;               // the text of /proc/self/cgroup
  bool sees_whole_host = true;      // it is in the first PID namespace, and not in that of a container
  bool terminal = false;            // it has a controlling terminal, whatever its input is
};

// The start by one scheduler. Each value comes with the variable that it is from.
struct ClusterStart {
  std::string starter;  // "Slurm step"
  std::string id;       // "8.0", with ".rN" if it was requeued N times; another one for each start
  int nodes = 1;
  std::string nodes_from;
  NodeRank node_rank{};
  std::string node_rank_from;
  std::vector<std::string> names;  // of the nodes, in order
  std::string names_from;
  int most_per_node = 1;   // tasks, on the node that has most of them
  std::uint16_t port = 0;  // for node 0: chosen by the id, so that two jobs rarely choose the same
  std::string port_from;
};

struct ClusterView {
  std::optional<ClusterStart> start;
  std::string notice;              // for the user, if there is no start but there might have been; or empty
  std::vector<std::string> found;  // one line for each thing that was found, and what became of it
};

// An error if a start is there, but says nonsense or only half.
Result<ClusterView> view_cluster(const Environment& env, const ProcessFacts& process);

// Whether there is anything for which ProcessFacts are needed.
bool may_be_in_cluster(const Environment& env);

}  // namespace launch

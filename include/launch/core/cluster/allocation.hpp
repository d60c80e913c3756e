// The hosts that a batch system has given to a job in which nothing was started on all of them: PBS, LSF, SGE, Cobalt
// and OAR run the user's script on the first host only. launch in it starts one node, as torchrun does, and says how
// all are used. Pure; io/process_facts reads the file of hosts.
//
// Source: the systems' own code and documentation, and what Hydra and PRRTE read of them.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"

#include <string>
#include <vector>

namespace launch {

// Whether such a system has left variables.
bool speaks_of_allocation(const Environment& env);

// The file that has the hosts, one in each line; empty: there is none.
std::string host_file(const Environment& env);

// The hosts of an LSF job, from "n1 8 n2 8"; on machines with jsrun the first only starts the ranks.
std::vector<std::string> hosts_of_lsf(const Environment& env);
// Without that one, if others are there.
std::vector<std::string> working_hosts_of_lsf(const Environment& env);

// Has only what is said of it.
ClusterView view_allocation(const Environment& env, const ProcessFacts& process);

}  // namespace launch

// The start by something that starts ranks and not nodes: Open MPI, Hydra (MPICH, Intel MPI, MVAPICH), MVAPICH2's
// mpirun_rsh, Flux, PALS and jsrun. They say which rank this is, and rarely where rank 0 runs. One rank for each node
// makes a node of a launch, several make each launch the agent of one worker. Pure.
//
// Source: the variables of Open MPI 4.1 and 5.0, MPICH 4.0 and 5.0 and Intel MPI 2021, as recorded in
// tests/support/starts.hpp; those of the others from their documentation.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"

namespace launch {

const std::vector<std::string_view>& mpi_words();

// Whether the starter of this word, one of mpi_words(), has left variables.
bool speaks_of_mpi(std::string_view word, const Environment& env);

Result<ClusterView> view_mpi(std::string_view word, const Environment& env, const ProcessFacts& process);

}  // namespace launch

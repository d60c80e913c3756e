// The start by a Slurm step (srun), and the notice in an allocation without one. Source: what Slurm 22.05 sets, as
// recorded in tests/support/slurm.hpp. Whether the step is alive is decided by slurm_life. Pure; no program of Slurm is
// asked.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"

namespace launch {

bool speaks_of_slurm(const Environment& env);

// When Slurm ends the job that this process belongs to, in seconds since 1970; empty: it does not say.
Said<std::string> slurm_job_end(const Environment& env, const ProcessFacts& process);

Result<ClusterView> view_slurm(const Environment& env, const ProcessFacts& process);

}  // namespace launch

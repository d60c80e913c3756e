// What a starter has put into the environment of one task about this task alone: its rank, and where its own server is.
// Workers are other processes than the task that launch is: several that call MPI_Init as the same rank hang or abort.
// Without these names each of them stands alone. What is about the job, as SLURM_JOB_ID, stays. Pure.
#pragma once

#include "launch/core/base/environment.hpp"

namespace launch {

Environment without_identity(const Environment& env);

}  // namespace launch

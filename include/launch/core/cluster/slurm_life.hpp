// Whether this process was started by the Slurm step that its environment speaks of. Slurm's variables are inherited by
// all that is started below: by a batch script that was submitted from a step, by a shell in tmux, by a worker's own
// launch. What is above this process in the tree tells. Pure.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"

namespace launch {

enum class SlurmLife {
  step,         // srun started this launch, or a script that started it
  allocation,   // there is a job, but no step started this: the batch script, or the shell of salloc
  interactive,  // the shell of "srun --pty", of which only that of the first node lives
  ended,        // the variables are left over from a start that has nothing to do with this process
  doubtful,     // a container hides what is above, and the variables contradict each other
};

SlurmLife slurm_life(const Environment& env, const ProcessFacts& process);

}  // namespace launch

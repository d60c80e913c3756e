// Reads what is known of this process, of its host and of the processes above it, for core/cluster, which decides by it
// if a scheduler's variables are true. commands calls it once, before all else. What cannot be read is left empty. It
// asks the kernel and reads /etc/hosts, and asks no program.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"

namespace launch {

// The environment, and what a platform writes into a file where others set variables.
Environment with_platform_files(const Environment& env);

ProcessFacts read_process_facts(const Environment& env);

}  // namespace launch

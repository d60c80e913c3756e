// Reads what is known of this process, of its host and of the processes above it, for core/cluster, which decides by it
// if a scheduler's variables are true. commands calls it once, before all else. What cannot be read is left empty. It
// asks the kernel and reads /etc/hosts, and asks no program.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"

#include <optional>

namespace launch {

// The environment with what a platform writes into a file where others set variables; nullopt: there is no such file.
std::optional<Environment> with_platform_files(const Environment& env);

ProcessFacts read_process_facts(const Environment& env);

}  // namespace launch

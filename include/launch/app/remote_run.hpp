// `launch --remote 1`: the end of `launch --hosts` on each host. Speaks with the head over its own standard input and
// output, starts the launch of its node as a child, and carries out what core/hosts/remote decides. commands calls it
// once. It leaves when the node has ended, and takes with it what it has made on this host.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/io/signals.hpp"

#include <string>

namespace launch {

// Returns the exit code; nobody but a person who calls it by hand looks at that. `protocol` is what --remote says,
// `env` this process's own environment.
int run_remote(const std::string& protocol, Environment env, SignalPlan& signals);

}  // namespace launch

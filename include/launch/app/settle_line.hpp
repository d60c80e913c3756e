// A command line with all that is known of this host becomes the checked Config of a node: the scheduler that started
// launch is looked at and, if it keeps a server for its ranks, asked; then core settles. commands calls it for the job
// that this process is to run, and remote_run to find out early whether the node of another process could start. It
// starts nothing. Errors are for people.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

// Adds to the options what the scheduler says, and fills `facts`.
Result<Config> settle_line(Options& options, HostFacts& facts, Environment env);

}  // namespace launch

// The part of settle() about output: --redirects, --tee and similar options, by torchrun's grammar, except that a map
// may name any local rank; and where events are written. Called only by settle(), and by plan_hosts() for what holds
// for the head, too. The first fault is returned as the error. It opens no file and makes no folder.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

// What launch itself says: --verbose, --quiet, LOGLEVEL.
Status settle_verbosity(const Options& options, const Environment& env, Verbosity& verbosity);

// REQUIRES: nodes and workers are settled.
Status settle_logs(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch

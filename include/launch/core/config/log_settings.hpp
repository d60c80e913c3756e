// The part of settle() about output: --redirects, --tee and their kin, by torchrun's grammar, except that a map may
// name any local rank; and where events are told.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

// REQUIRES: nodes and workers are settled.
Status settle_logs(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch

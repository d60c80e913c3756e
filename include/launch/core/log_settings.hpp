// The part of settle() about output: --redirects, --tee and their kin, by torchrun's grammar, except that a map may
// name any local rank.
#pragma once

#include "launch/core/config.hpp"

namespace launch {

// REQUIRES: nproc_per_node is settled.
Status settle_logs(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch

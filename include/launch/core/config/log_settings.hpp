// The part of settle() about output: --redirects, --tee and their kin, by torchrun's grammar, except that a map may
// name any local rank; and where events are told. Called by settle() alone. The first thing that is wrong is the error.
// It opens no file and makes no folder.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

// REQUIRES: nodes and workers are settled.
Status settle_logs(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch

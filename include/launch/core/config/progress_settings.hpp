// The part of settle() about --progress: the expression, and which streams must pass launch so that it can be looked
// for. Called only by settle(), after the settings of the logs. The first fault is returned as the error.
// It reads no stream.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

// REQUIRES: the logs are settled.
Status settle_progress(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch

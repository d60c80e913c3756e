// The part of settle() about --progress and --hang-timeout: the expression, what a hang leads to, and which streams
// must pass launch so that they can be heard. Called only by settle(), after the settings of restarts and logs. The
// first fault is returned as the error. It reads no stream.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

// REQUIRES: the logs are settled.
Status settle_progress(const Options& options, const HostFacts& facts, Config& config);
Status settle_hang(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch

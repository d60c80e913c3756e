// The part of settle() about workers: how many, what they execute, their devices, processors and environment. Called
// only by settle(). It looks at no file: what is known about the program and the devices is in HostFacts. The first
// fault is returned as the error.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

// Fills nproc_per_node, program, worker_env and what belongs to them.
Status settle_workers(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch

// The part of settle() about nodes: how many, which one this is, and where they meet (torchrun's rewrites of a command
// line before a rendezvous, where they are not listed in docs/torchrun.md as a difference). Called by settle() alone.
// It resolves no name and opens no port.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

// Fills meeting, run_id, rendezvous_timeout and what follows from them.
Status settle_nodes(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch

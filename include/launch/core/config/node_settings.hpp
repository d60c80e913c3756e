// The part of settle() about nodes: how many, which one this is, and where they meet. Before a rendezvous torchrun
// rewrites some command lines; so does this, except for the differences listed in docs/torchrun.md. Called only by
// settle(). It resolves no name and opens no port.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

#include <string_view>

namespace launch {

// Fills meeting, run_id, rendezvous_timeout and what follows from them.
Status settle_nodes(const Options& options, const HostFacts& facts, Config& config);

// Whether this key of --rdzv-conf means something to c10d only.
bool is_c10d_key(std::string_view key);

}  // namespace launch

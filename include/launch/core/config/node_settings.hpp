// The part of settle() about nodes: how many, which one this is, and where they meet. Before a rendezvous torchrun
// rewrites some command lines; so does this, except for the differences listed in docs/torchrun.md. Called only by
// settle(). It resolves no name and opens no port.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace launch {

// Fills meeting, run_id, rendezvous_timeout and what follows from them.
Status settle_nodes(const Options& options, const HostFacts& facts, Config& config);

// "2:4", or N, which means N:N; whether the numbers are possible is not looked at. nullopt: it is something else.
std::optional<NodeLimits> parse_limits(std::string_view text);

// An error that begins with `source` unless it is a port, or 0 (any free one) for a single node.
Result<std::uint16_t> check_port(int port, const std::string& source, int nnodes);

// Whether this key of --rdzv-conf means something to c10d only.
bool is_c10d_key(std::string_view key);

}  // namespace launch

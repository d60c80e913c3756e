// The part of settle() about output: --redirects, --tee and their kin are checked by torchrun's grammar, except that a
// map may name any local rank.
#pragma once

#include "launch/core/config.hpp"

namespace launch {

Status settle_logs(const Options& options, const HostFacts& facts, Config& config);

}  // namespace launch

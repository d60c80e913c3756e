// settle(): the user's options and the facts of this host become Config, or one error that says what is wrong, where it
// came from and what would be right.
//
// Pure: it looks at nothing but its arguments.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

Result<Config> settle(const Options& options, const HostFacts& facts);

}  // namespace launch

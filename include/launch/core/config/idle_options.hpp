// Options that the user gave and that have no effect beside the others, since each needs another one: --fold needs
// --tee, some keys of --rdzv-conf need a c10d job. Each becomes a notice of the Config; nothing is refused. Called only
// by settle().
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

// REQUIRES: all else in `config` is settled.
void notice_idle_options(const Options& options, Config& config);

}  // namespace launch

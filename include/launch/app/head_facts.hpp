// What the plan of `launch --hosts` (core/config/hosts_settings) needs to know of this host: its names, the folder, the
// user's host file, and what a scheduler has left in files. commands asks for it once, before anything is started. It
// changes nothing.
#pragma once

#include "launch/core/config/hosts_settings.hpp"

namespace launch {

// An error if the host file cannot be read.
Result<HeadFacts> read_head_facts(const Options& options, Environment env);

}  // namespace launch

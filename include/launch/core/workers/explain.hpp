// What `launch --explain` prints: every setting with its origin, the ranks of this node, and each worker's command and
// environment, as they would be if the job were started now. Pure, so that it shows what would really be done. It
// starts nothing, connects to nothing and writes nothing: the text is returned.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

#include <string>

namespace launch {

// If nodes have different numbers of workers, only a rendezvous can tell the ranks. So all nodes are assumed to have as
// many as this one.
std::string explain_text(const Options& options, const Config& config, const Environment& env);

// The same for programs, as one JSON object; a port that is not known yet is null.
std::string explain_json(const Options& options, const Config& config, const Environment& env);

}  // namespace launch

// What the user named, from the look of it: a script for Python, a module, or something to execute directly.
//
// The shebang and the suffix decide, as a shell user expects; only what is neither a program nor a script of another
// interpreter goes to Python unasked, as torchrun does with everything.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

namespace launch {

// REQUIRES: options.program is not empty. An error has code usage: no interpreter, a folder, contradicting options.
Result<ProgramCommand> resolve_program(const Options& options, const HostFacts& facts);

}  // namespace launch

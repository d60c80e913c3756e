// Decides what the user named, from what it looks like: a script for Python, a module, or something to execute
// directly.
//
// The shebang and the suffix decide, as a shell user expects. Only a file that is neither a program nor a script of
// another interpreter is run with Python without being asked; torchrun does that with every file.
#pragma once

#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

#include <string>

namespace launch {

// REQUIRES: options.program is not empty. An error has code usage: no interpreter, a folder, contradicting options.
Result<ProgramCommand> resolve_program(const Options& options, const HostFacts& facts);

// The Python interpreter that the command starts; empty if it starts something else.
std::string interpreter_of(const ProgramCommand& command);

}  // namespace launch

// What `launch` does with its command line: print a text, or run this node of a job. Called by main alone. Where files
// are opened and the guard is made before there is a thread; it returns only when nothing of the job is left on this
// node.
#pragma once

#include <string>
#include <vector>

namespace launch {

// `args` is the command line without the program's own name. Returns the exit code.
int run_command(const std::vector<std::string>& args);

}  // namespace launch

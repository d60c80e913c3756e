// What `launch` does with its command line: print a text, or run this node of a job. Called by main alone. The
// guard is made before there is a thread. It returns when this node's part of the job has ended. Wrong input is one
// line of error and exit code 2, before anything is started.
#pragma once

#include <string>
#include <vector>

namespace launch {

// `args` is the command line without the program's own name. Returns the exit code.
int run_command(const std::vector<std::string>& args);

}  // namespace launch

// What `launch` does with its command line: it prints a text, or runs this node of a job. Only main calls it. The guard
// is made before any thread exists. run_command() returns when this node's part of the job has ended. Wrong input gives
// one line of error and exit code 2, before anything is started.
#pragma once

#include <string>
#include <vector>

namespace launch {

// `args` is the command line without the program's own name. Returns the exit code.
int run_command(const std::vector<std::string>& args);

}  // namespace launch

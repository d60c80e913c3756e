// The program launch-ctl: it finds the running jobs of this user on this host by their doors, asks one of them, and
// prints what comes back. Only main calls it, if launch was started by that name. Exit codes: 0; 1 if there is no such
// job, or nothing could be done; 2 if the line is wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace launch {

// Whether a program of this name (argv[0]) is launch-ctl.
bool is_control_name(std::string_view name);

// `args` is the command line without the program's own name. Returns the exit code.
int run_control(const std::vector<std::string>& args);

}  // namespace launch

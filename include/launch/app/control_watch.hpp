// The commands of launch-ctl that ask a job again and again: its state on a live
// page, and its logs as they come. They run without a loop of events, in the
// process of launch-ctl. Both end when the job does.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/control/control_line.hpp"

#include <string>
#include <vector>

namespace launch {

// Tells the user on standard error; returns the exit code.
int refuse(const Error& error);

// `doors`: of the job's nodes on this host, as find_job() gives them. Returns the exit code.
int watch_job(const ControlCommand& command, const std::vector<std::string>& doors);
int read_job_logs(const ControlCommand& command, const std::vector<std::string>& doors);

}  // namespace launch

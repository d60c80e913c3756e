// The doors of the jobs on this host, as launch-ctl finds and asks them. A job may
// have several here, as long as its nodes do not know each other yet. It shows
// nothing, and changes nothing but doors that dead agents have left.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/control/control_request.hpp"
#include "launch/core/control/node_report.hpp"
#include "launch/io/door.hpp"

#include <string>
#include <vector>

namespace launch {

struct JobAgent {
  std::string door;
  NodeReport node;
};

// One for each job and node: several nodes of a job may be on this host. Without a run id: those of all jobs.
std::vector<JobAgent> find_agents(const std::string& run_id);
// The doors to ask about a job, of which `job` is the run id, or, if it is none, the pid of a launch; if it is empty,
// about the only one. An error if there is none, or there are several.
Result<std::vector<std::string>> find_job(const std::string& job);
// What all of them answer, by node; an error only if there is one door, and it stays shut.
// `await`: as with ask_at_door().
Result<std::vector<NodeReport>> ask_job_at(const std::vector<std::string>& doors, const ControlRequest& request,
                                           const AwaitAnswer& await = {});

}  // namespace launch

// What the nodes of a job that hangs say, for the decision and for people: how long each has been quiet, whether a
// worker has moved between two looks at the stacks, and the lines of the warning. Pure; app/hang_desk asks the nodes.
// It decides nothing: core/progress/hang_judge does.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/control/node_report.hpp"
#include "launch/core/progress/hang_judge.hpp"

#include <string>
#include <vector>

namespace launch {

std::vector<NodeQuiet> quiet_of(const std::vector<NodeReport>& nodes);

// True if a worker's stack is another one than before. What is not known has not moved.
bool have_moved(const std::vector<NodeReport>& before, const std::vector<NodeReport>& after);

// "no progress for 20 s".
std::string no_progress_text(Duration quiet);
// Where the workers are, a line each: equal ones together; and who is behind, if steps are known.
std::vector<std::string> hang_lines(const std::vector<NodeReport>& nodes);

}  // namespace launch

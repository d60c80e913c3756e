// What launch-ctl shows of the reports of all nodes: the jobs of a host, the state of a job, its stacks. Pure; lines
// fit into `columns`. Nothing that a worker wrote can move the reader's cursor. Above 64 workers the rows are those of
// nodes, and only workers that do not run have rows of their own.
#pragma once

#include "launch/core/control/screen_text.hpp"

#include <string>

namespace launch {

// A row for each job: of its node on this host.
std::string jobs_screen(const Screen& screen);
std::string status_screen(const Screen& screen);
// Workers at the same place share a line; most workers first.
std::string stacks_screen(const Screen& screen);
// What was done, and where it was not.
std::string done_screen(const Screen& screen);

}  // namespace launch

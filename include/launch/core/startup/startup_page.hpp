// The start of a job as files for --timeline: one page of HTML that needs nothing else, neither a network nor another
// file, and a trace for Perfetto and chrome://tracing. Pure. Names of hosts are escaped. Thousands of ranks are rows of
// few pixels each. It writes no file.
#pragma once

#include "launch/core/startup/startup_table.hpp"

#include <string>

namespace launch {

// What stands above the picture.
struct StartupTitle {
  std::string run_id;
  std::string program;
  std::string when;  // in local time
};

std::string startup_html(const StartupTable& table, const StartupTitle& title);
// A process for each node, a thread for each rank, and a slice for each phase, in microseconds.
std::string startup_trace(const StartupTable& table);

}  // namespace launch

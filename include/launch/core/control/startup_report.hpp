// What the nodes of a job say of the start of their workers, as the facts of a time line, and what launch-ctl timeline
// shows and writes of it. Pure; app/startup_desk and app/control_command ask the nodes. It assigns no client to a rank:
// core/startup does.
#pragma once

#include "launch/core/control/node_report.hpp"
#include "launch/core/control/screen_text.hpp"
#include "launch/core/startup/startup_table.hpp"

#include <string>
#include <vector>

namespace launch {

StartupTable startup_of(const std::vector<NodeReport>& nodes);
// Each worker gets the age of its first connection to the store, if that is known, in place of what it follows from.
std::vector<NodeReport> with_store_ages(std::vector<NodeReport> nodes);
// An answer to another node may have 64 KiB: clients beyond that are left out, the last ones first, and counted.
void limit_clients(NodeReport& report);

std::string timeline_screen(const Screen& screen);

}  // namespace launch

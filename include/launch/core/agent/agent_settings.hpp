// What the agent decides by, out of what the user asked for. Used by Node. It looks at nothing but the
// configuration, which has been checked: there are no errors. Times are durations from the moment that they speak of,
// not points in time.
#pragma once

#include "launch/core/agent/agent.hpp"
#include "launch/core/config/config.hpp"

#include <vector>

namespace launch {

AgentSettings agent_settings(const Config& config);

// What the workers get when launch is told to end by `signal`. An alarm that was set for launch means nothing to them,
// unless it is one of those that the user chose (`wanted`).
int signal_for_workers(int signal, const std::vector<int>& wanted);

}  // namespace launch

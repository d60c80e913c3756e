// The settings by which the agent decides, made from what the user asked for. Used by Node. It reads only the
// configuration, which has been checked: there are no errors. Times are durations, not points in time; each counts from
// the moment that it is about.
#pragma once

#include "launch/core/agent/agent.hpp"
#include "launch/core/config/config.hpp"

#include <vector>

namespace launch {

AgentSettings agent_settings(const Config& config);

// The signal that the workers get when `signal` tells launch to stop. An alarm that was set for launch means nothing to
// them, so they get SIGTERM instead, unless the user chose SIGALRM (`wanted`).
int signal_for_workers(int signal, const std::vector<int>& wanted);

}  // namespace launch

#include "launch/core/agent/agent_settings.hpp"

#include <algorithm>
#include <csignal>

namespace launch {

AgentSettings agent_settings(const Config& config) {
  return {config.nnodes,           config.node_rank,
          config.nproc_per_node,   config.hostname,
          config.shutdown_timeout, config.kill_grace,
          config.restarts,         config.evidence.states,
          config.evidence.stacks,  goes_on_without_a_node(config)};
}

int signal_for_workers(int signal, const std::vector<int>& wanted) {
  return signal != SIGALRM || std::find(wanted.begin(), wanted.end(), signal) != wanted.end() ? signal : SIGTERM;
}

}  // namespace launch

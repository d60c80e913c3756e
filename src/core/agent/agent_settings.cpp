#include "launch/core/agent/agent_settings.hpp"

#include <algorithm>
#include <csignal>

namespace launch {

AgentSettings agent_settings(const Config& config) {
  return {.nnodes = config.nnodes(),
          .node_rank = config.node_rank(),
          .nproc = config.nproc_per_node,
          .host = config.hostname,
          .shutdown_timeout = config.shutdown_timeout,
          .kill_grace = config.kill_grace,
          .after_hook = !config.hooks.after.empty(),
          .hook_timeout = config.hooks.timeout,
          .restarts = config.restarts,
          .evidence = config.evidence.states,
          .stacks = config.evidence.stacks,
          .leaves = goes_on_without_a_node(config),
          .least_nodes = config.c10d() != nullptr ? config.c10d()->settings.nodes.min : config.nnodes(),
          .hosted = config.verdict.hosted};
}

int signal_for_workers(int signal, const std::vector<int>& wanted) {
  return signal != SIGALRM || std::find(wanted.begin(), wanted.end(), signal) != wanted.end() ? signal : SIGTERM;
}

}  // namespace launch

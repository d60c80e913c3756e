// For tests of Agent: what stands in the actions that it answers with, and a node of three that most of them play.
#pragma once

#include "launch/core/agent/agent.hpp"

#include <string>
#include <variant>

namespace launch {

template <class T>
const T* find(const AgentActions& actions) {
  for (const AgentAction& action : actions)
    if (const T* found = std::get_if<T>(&action)) return found;
  return nullptr;
}

// The kinds of actions in their order: E evidence, S with stacks, T told the others, s signalled, k killed.
inline std::string order(const AgentActions& actions) {
  std::string text;
  for (const AgentAction& action : actions) {
    if (const auto* evidence = std::get_if<GatherEvidence>(&action)) text += evidence->stacks ? 'S' : 'E';
    if (std::holds_alternative<TellPeers>(action)) text += 'T';
    if (std::holds_alternative<SignalWorkers>(action)) text += 's';
    if (std::holds_alternative<KillWorkers>(action)) text += 'k';
  }
  return text;
}

inline AgentSettings settings_of_three() {
  AgentSettings settings{.nnodes = 3,
                         .node_rank = NodeRank::none(),
                         .nproc = 2,
                         .host = "h",
                         .shutdown_timeout = std::chrono::seconds(30),
                         .kill_grace = std::chrono::seconds(5),
                         .evidence = true};
  return settings;
}

// This node is the second one.
inline Round round_of_three() {
  return {Assignment{.group_rank = NodeRank(1),
                     .group_world_size = 3,
                     .base_global_rank = GlobalRank(2),
                     .world_size = 6,
                     .base_role_rank = 2,
                     .role_world_size = 6},
          std::nullopt, 0, true};
}

}  // namespace launch

// For tests of Agent: what stands in the actions that it answers with.
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

}  // namespace launch

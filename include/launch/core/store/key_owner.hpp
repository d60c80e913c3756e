// Whose keys a request to a store names, if agents and workers share the store: for the fence between two rounds, which
// nothing of the last round's workers may pass. Asked by the table and the server of a store; never acts. It looks at
// names alone.
#pragma once

#include "launch/core/store/store_wire.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

// In the order of what decides if a request names keys of several.
enum class KeyOwner {
  agents,   // or it names no key
  anybody,  // the count of clients, under which agents and workers enter alike
  workers,
};

// How the keys of agents begin; with none, every key is the workers'.
using AgentKeys = std::vector<std::string>;

KeyOwner owner_of(std::string_view key, const AgentKeys& agent_keys);
KeyOwner owner_of(const Request& request, const AgentKeys& agent_keys);

}  // namespace launch

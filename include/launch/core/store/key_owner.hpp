// Whose keys a request to a store names, if agents and workers share the store. Used for the fence between two rounds,
// which nothing of the last round's workers may pass. The table and the server of a store ask it. It looks only at
// names, and never acts.
#pragma once

#include "launch/core/store/store_wire.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

// If a request names keys of several owners, the one that comes last here counts.
enum class KeyOwner {
  agents,   // also if the request names no key
  anybody,  // the count of clients, in which agents and workers both count themselves
  workers,
};

// How the keys of agents begin; if this is empty, every key belongs to the workers.
using AgentKeys = std::vector<std::string>;

KeyOwner owner_of(std::string_view key, const AgentKeys& agent_keys);
KeyOwner owner_of(const Request& request, const AgentKeys& agent_keys);

}  // namespace launch

// What this host tells the other ranks of a start about where it can be reached, and what it takes of what rank 0 has
// told. core/cluster/reach decides; this looks at the interfaces, asks the system's resolver and tries which port is
// free. Blocks; used by the talks with a starter's server, before anything is started. It holds no port.
#pragma once

#include "launch/core/cluster/reach.hpp"

#include <cstdint>
#include <string>

namespace launch {

// Port 0: any that is free now.
Reach own_reach(const std::string& hostname, std::uint16_t port);

// The name or address by which this host reaches it.
std::string host_for(const Reach& reach);

}  // namespace launch

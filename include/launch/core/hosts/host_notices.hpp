// What is odd about hosts that can all take part, seen when they are compared: one machine under two names, and
// machines of different architectures. Used by core/hosts/head before the nodes start. Pure. These are warnings: the
// job starts all the same. A machine is known by its boot id together with its hostname, because containers have the
// boot id of their machine, but hostnames of their own.
#pragma once

#include "launch/core/hosts/host_messages.hpp"

#include <string>
#include <vector>

namespace launch {

struct ReadyHost {
  std::string name;  // as the user wrote it
  NodeReady ready;
};

// A sentence each, with the hosts folded; nothing if nothing is odd.
std::vector<std::string> notices_on_hosts(const std::vector<ReadyHost>& hosts);

}  // namespace launch

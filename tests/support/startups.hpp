// How jobs have started, as their nodes tell it, for the tests of the time line: 20 s after the first exec, each rank
// has come 10 ms after the one before it, and the last node's ranks 13 s later than those of the others.
#pragma once

#include "launch/core/startup/startup_table.hpp"

#include <string>

namespace launch {

inline StartupFacts slow_node(int nodes, int workers) {
  StartupFacts facts;
  facts.world_size = nodes * workers;
  facts.store_node = 0;
  for (int node = 0; node < nodes; ++node) {
    const std::string address = "10.0." + std::to_string(node / 250) + "." + std::to_string(node % 250 + 1);
    StartupNode& one = facts.nodes.emplace_back(StartupNode{node, "n" + std::to_string(node), {address}, {}});
    const bool slow = node > 0 && node == nodes - 1;
    for (int local = 0; local < workers; ++local) {
      const double started = slow ? 0.5 : 0;
      const double output = slow ? 12.5 : 0.8;
      const int pid = 100 + local;
      one.workers.push_back({node * workers + local, {pid}, 20 - started, 20 - output, {}});
      const double came = (slow ? 14.0 : 1.3) + 0.01 * local;
      facts.clients.push_back({address, node == 0, static_cast<std::uint32_t>(pid), 20 - came});
    }
  }
  return facts;
}

}  // namespace launch

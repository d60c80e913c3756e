// A node's Config as settle() would make it, for tests that need no command line.
#pragma once

#include "launch/core/config/config.hpp"

#include <string>

namespace launch::play {

// Node `rank` of a static job; hosts are called n0, n1, ... and node 0 hosts the store.
inline Config static_config(int rank, int nnodes, int nproc = 1) {
  Config config;
  config.pid = 100 + rank;
  const Endpoint store{"n0", 29500};
  if (nnodes > 1) {
    config.meeting = StaticChoice{store, nnodes, NodeRank(rank)};
  } else {
    config.meeting = AloneChoice{store};
  }
  config.nproc_per_node = nproc;
  config.role = "default";
  config.run_id = "job";
  config.hostname = "n" + std::to_string(rank);
  config.rendezvous_timeout = std::chrono::seconds(900);
  config.heartbeat_timeout = std::chrono::seconds(30);
  config.shutdown_timeout = std::chrono::seconds(15);
  config.kill_grace = std::chrono::seconds(5);
  return config;
}

// A node of a c10d job; `host` is its name, and n0 hosts the store. `moves`: with --quorum=host.
inline Config elastic_config(const std::string& host, int pid, NodeLimits nodes, bool moves = false) {
  Config config = static_config(0, nodes.max);
  config.pid = pid;
  config.hostname = host;
  C10dChoice choice;
  choice.store = config.store();
  choice.settings.run_id = config.run_id;
  choice.settings.nodes = nodes;
  choice.settings.last_call_timeout = std::chrono::seconds(3);
  choice.is_host = host == "n0";
  choice.host_moves = moves;
  config.meeting = choice;
  return config;
}

// The choices of a c10d job, to be changed.
inline C10dChoice& c10d_of(Config& config) { return std::get<C10dChoice>(config.meeting); }

}  // namespace launch::play

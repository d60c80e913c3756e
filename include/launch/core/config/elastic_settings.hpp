// The settings of a node of a c10d job: its name, how many nodes, and how long it waits for what. Made once from the
// options; the machines of the rendezvous read them. Durations are of this host's clock. Settings that must be the same
// on all nodes are in `common`.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/config/common_settings.hpp"
#include "launch/core/job/job.hpp"
#include "launch/core/job/node_desc.hpp"

#include <string>

namespace launch {

struct NodeLimits {
  int min = 1;
  int max = 1;

  bool operator==(const NodeLimits&) const = default;
};

// As in --nnodes: "2:4", "3".
std::string to_text(const NodeLimits& limits);

// Defaults are torchrun's; --rdzv-conf sets them.
struct ElasticSettings {
  std::string run_id;
  NodeDesc self;
  Member member;  // role and number of workers
  NodeLimits nodes;
  CommonSettings common{};
  Duration join_timeout = std::chrono::seconds(600);
  Duration last_call_timeout = std::chrono::seconds(30);
  Duration close_timeout = std::chrono::seconds(30);
  Duration keep_alive_interval = std::chrono::seconds(5);
  int keep_alive_max_attempt = 3;
  Duration report_interval = std::chrono::seconds(30);  // between two progress lines; no key sets it
};

}  // namespace launch

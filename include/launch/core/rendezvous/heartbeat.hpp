// How often the nodes of a job show the host of their store that they live, and after what silence either side takes
// the other for dead. From --heartbeat-timeout and the number of nodes, so that the host has time for its work. All
// numbers of both sides stand here, so that what one side bears and the other dares can be compared.
#pragma once

#include "launch/core/base/time.hpp"

namespace launch {

struct Heartbeat {
  Duration interval;  // between two beats of a node
  Duration patience;  // of a node for the answer, and for the network to take what it sends
  Duration silence;   // of a node, that the host bears
  Duration grace;     // of a node's workers, once it has lost patience: before the host loses it
};

// All zero where `timeout` is: then silence is no failure.
Heartbeat plan_heartbeat(Duration timeout, int nodes);

// How long a node's agent may stand still before its workers are ended: when the others can give it up, they are gone.
// Zero where `timeout` is.
Duration longest_stall(Duration timeout, int nodes);

}  // namespace launch

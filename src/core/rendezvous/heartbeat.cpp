#include "launch/core/rendezvous/heartbeat.hpp"

#include <algorithm>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr int beats_per_timeout = 8;
constexpr Duration between_two_nodes = 1ms;  // a beat costs the host some 15 us when it comes alone

}  // namespace

// Who stands still for nine tenths of the timeout disturbs nobody. And a node gives the host up, and kills its workers,
// before the host gives up the node: so two halves of a network that was cut never both run. At worst the last that the
// host has heard is a beat, and the next one, an interval later, is the first without an answer.
Heartbeat plan_heartbeat(Duration timeout, int nodes) {
  if (timeout == Duration::zero()) return {};
  Heartbeat plan;
  plan.interval = std::max<Duration>(timeout / beats_per_timeout, between_two_nodes * nodes);
  plan.patience = timeout * 9 / 10;
  plan.grace = timeout / 20;
  plan.silence = plan.interval + plan.patience + plan.grace + timeout / 50;
  return plan;
}

// The last beat was sent an interval before the agent stood still, at most.
Duration longest_stall(Duration timeout, int nodes) {
  const Heartbeat plan = plan_heartbeat(timeout, nodes);
  return plan.patience + plan.grace;
}

}  // namespace launch

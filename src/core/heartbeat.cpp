#include "launch/core/heartbeat.hpp"

#include <algorithm>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr int beats_per_timeout = 8;
constexpr Duration between_two_nodes = 1ms;  // a beat costs the host some 15 us when it comes alone

}  // namespace

// A node gives the host up, and kills its workers, before the host gives up the node, which it does after nine tenths
// (io/store_server): so two halves of a network that was cut never both run.
Heartbeat plan_heartbeat(Duration timeout, int nodes) {
  if (timeout == Duration::zero()) return {};
  Heartbeat plan;
  plan.interval = std::max<Duration>(timeout / beats_per_timeout, between_two_nodes * nodes);
  plan.patience = timeout * 7 / 10;
  plan.grace = timeout / 20;
  plan.silence = std::max<Duration>(timeout, (plan.interval + plan.patience + plan.grace) * 9 / 8);
  plan.network = plan.silence * 9 / 10;
  return plan;
}

}  // namespace launch

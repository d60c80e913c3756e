#include "launch/core/config/config.hpp"

namespace launch {

bool goes_on_without_a_node(const Config& config) {
  if (!config.elastic) return false;
  const NodeLimits& nodes = config.elastic->settings.nodes;
  return nodes.min < nodes.max || config.restarts.max_restarts > 0;
}

}  // namespace launch

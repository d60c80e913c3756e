#include "launch/core/config/config.hpp"

#include "launch/core/job/endpoint_list.hpp"

#include <utility>

namespace launch {

int Config::nnodes() const {
  if (const auto* nodes = std::get_if<StaticChoice>(&meeting)) return nodes->nnodes;
  return c10d() != nullptr ? c10d()->settings.nodes.max : 1;
}

NodeRank Config::node_rank() const {
  if (const auto* nodes = std::get_if<StaticChoice>(&meeting)) return nodes->node_rank;
  return c10d() != nullptr ? NodeRank::none() : NodeRank(0);
}

std::string Config::store_text() const {
  return c10d() != nullptr && !c10d()->places.empty() ? to_text(c10d()->places) : to_text(store());
}

const Endpoint& Config::store() const {
  return std::visit([](const auto& choice) -> const Endpoint& { return choice.store; }, meeting);
}

void set_ports(Config& config, std::vector<std::uint16_t> ports) {
  if (auto* nodes = std::get_if<StaticChoice>(&config.meeting)) nodes->ports = std::move(ports);
  // Where any node may host the store, all of them look at one port.
  else if (auto* c10d = std::get_if<C10dChoice>(&config.meeting); c10d != nullptr && c10d->is_host)
    c10d->ports = std::move(ports);
}

bool goes_on_without_a_node(const Config& config) {
  const C10dChoice* const c10d = config.c10d();
  if (c10d == nullptr) return false;
  const NodeLimits& nodes = c10d->settings.nodes;
  return nodes.min < nodes.max || config.restarts.max_restarts > 0;
}

bool serves_majority(const Config& config) {
  const bool wanted = config.c10d() != nullptr && config.c10d()->by_majority;
  return wanted && config.heartbeat_timeout > Duration::zero() && goes_on_without_a_node(config);
}

}  // namespace launch

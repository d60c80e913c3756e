#include "launch/core/c10d/torchrun_agents.hpp"

#include <algorithm>

namespace launch {

void TorchrunAgents::learn(const Write& write, const NodeDesc& node, Time now) {
  const auto& before = write.before.last_heartbeats;
  const auto known = before.find(node);
  const bool same = known != before.end() && known->second == write.after.last_heartbeats.at(node);
  if (same && seen_.contains(node)) return;
  seen_[node] = now;
  if (!same) writers_[write.writer] = node;
}

void TorchrunAgents::look_at(const ElasticState& state) {
  std::erase_if(seen_, [&](const auto& entry) { return !state.last_heartbeats.contains(entry.first); });
  std::erase_if(returning_, [&](const auto& entry) { return state.participants.contains(entry.first); });
}

void TorchrunAgents::forget(const NodeDesc& node) {
  seen_.erase(node);
  returning_.erase(node);
}

void TorchrunAgents::leaves(const NodeDesc& node, Time until) { returning_[node] = until; }

int TorchrunAgents::due(const ElasticState& forming) const {
  const auto waits = [this](const NodeDesc& node) { return !is_launch(node) && !returning_.contains(node); };
  return static_cast<int>(returning_.size()) +
         static_cast<int>(std::count_if(forming.wait_list.begin(), forming.wait_list.end(), waits));
}

std::vector<RoundBroken> TorchrunAgents::who_left(const Write& write, Time until) {
  using enum RoundBroken::Cause;
  std::vector<RoundBroken> reasons;
  for (const auto& [node, rank] : write.before.participants) {
    if (write.after.participants.contains(node)) continue;
    const bool itself = is_writer(write.writer, node);
    if (itself) leaves(node, until);
    reasons.push_back({to_text(node) + (itself ? " restarts" : " stopped responding"), itself ? change : loss});
  }
  return reasons;
}

bool TorchrunAgents::is_writer(ConnectionId connection, const NodeDesc& node) const {
  const auto own = writers_.find(connection);
  return own != writers_.end() && own->second == node;
}

std::optional<NodeDesc> TorchrunAgents::drop(ConnectionId connection) {
  const auto writer = writers_.extract(connection);
  if (writer.empty()) return std::nullopt;
  return writer.mapped();
}

std::vector<NodeDesc> TorchrunAgents::take_silent(Time now, Duration silence) {
  std::vector<NodeDesc> silent;
  for (const auto& [node, since] : seen_)
    if (now >= later(since, silence)) silent.push_back(node);
  for (const NodeDesc& node : silent) seen_.erase(node);
  std::erase_if(returning_, [now](const auto& entry) { return now >= entry.second; });
  return silent;
}

Time TorchrunAgents::deadline(Duration silence) const {
  Time next = never;
  for (const auto& [node, since] : seen_) next = std::min(next, later(since, silence));
  for (const auto& [node, until] : returning_) next = std::min(next, until);
  return next;
}

// No agent adds a node to a complete round, or completes a round without nodes.
bool may_follow(const ElasticState& before, const ElasticState& after) {
  if (!after.complete) return true;
  if (!before.complete) return !after.participants.empty();
  const auto was_in = [&](const auto& entry) { return before.participants.contains(entry.first); };
  return after.round == before.round && !after.participants.empty() &&
         std::all_of(after.participants.begin(), after.participants.end(), was_in);
}

}  // namespace launch

#include "torchrun_handler.hpp"

#include <chrono>
#include <vector>

namespace launch::play {

namespace {

WallClock::duration wall_time(Duration duration) { return std::chrono::duration_cast<WallClock::duration>(duration); }

}  // namespace

void TorchrunHandler::sanitize(ElasticState& state, WallTime wall) const {
  const WallTime expired = wall - wall_time(settings_.keep_alive_interval * settings_.keep_alive_max_attempt);
  std::vector<NodeDesc> dead;
  for (const auto& [node, heartbeat] : state.last_heartbeats)
    if (heartbeat < expired) dead.push_back(node);
  for (const NodeDesc& node : dead) forget(state, node);
}

TorchrunHandler::Step TorchrunHandler::stay(ElasticState& state, const Instant& now) const {
  const auto own = state.last_heartbeats.find(self());
  if (own == state.last_heartbeats.end() || own->second > now.wall - wall_time(settings_.keep_alive_interval))
    return Step::done;
  own->second = now.wall;
  return Step::write;
}

TorchrunHandler::Step TorchrunHandler::leave(ElasticState& state) const {
  if (!state.participants.contains(self())) return Step::done;
  forget(state, self());
  return Step::write;
}

TorchrunHandler::Step TorchrunHandler::close(ElasticState& state) const {
  if (state.closed) return Step::done;
  state.closed = true;
  return Step::write;
}

TorchrunHandler::Step TorchrunHandler::join(ElasticState& state, const Instant& now) {
  if (state.closed) return Step::closed;
  const bool participant = state.participants.contains(self());
  if (state.redundancy_list.contains(self())) {
    if (static_cast<int>(state.participants.size()) == settings_.nodes.max) return wait_for_the_next(state, now);
    forget(state, self());
    begin(now.time);
    return Step::write;
  }
  if (state.complete && participant) return Step::done;
  if (now.time > deadline_) {
    if (!participant && !state.wait_list.contains(self())) return Step::too_late;
    forget(state, self());
    return Step::write;
  }
  if (state.complete) return wait_for_the_next(state, now);
  return participant ? wait_for_others(state, now) : take_a_seat(state, now);
}

TorchrunHandler::Step TorchrunHandler::wait_for_the_next(ElasticState& state, const Instant& now) const {
  const bool room = static_cast<int>(state.participants.size()) < settings_.nodes.max;
  auto& list = room ? state.wait_list : state.redundancy_list;
  if (state.wait_list.contains(self()) || !list.insert(self()).second) {
    const Step step = stay(state, now);
    return step == Step::done ? Step::wait : step;
  }
  state.last_heartbeats[self()] = now.wall;
  return Step::write;
}

TorchrunHandler::Step TorchrunHandler::wait_for_others(ElasticState& state, const Instant& now) const {
  const int count = static_cast<int>(state.participants.size());
  const bool enough = count >= settings_.nodes.min && count <= settings_.nodes.max;
  if (enough && state.deadline && *state.deadline < now.wall) {
    complete(state);
    return Step::write;
  }
  const Step step = stay(state, now);
  return step == Step::done ? Step::wait : step;
}

TorchrunHandler::Step TorchrunHandler::take_a_seat(ElasticState& state, const Instant& now) const {
  state.wait_list.erase(self());
  state.participants[self()] = 0;
  state.last_heartbeats[self()] = now.wall;
  const int count = static_cast<int>(state.participants.size());
  if (count == settings_.nodes.min) state.deadline = now.wall + wall_time(settings_.last_call_timeout);
  if (count == settings_.nodes.max) complete(state);
  return Step::write;
}

void TorchrunHandler::complete(ElasticState& state) const {
  std::vector<NodeDesc> order;
  for (const auto& [node, rank] : state.participants) order.push_back(node);
  complete_round(state, order);
}

}  // namespace launch::play

#include "job.hpp"

#include "launch/core/c10d/rendezvous_pickle.hpp"
#include "launch/core/store/keys.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace launch::sim {
using namespace std::chrono_literals;

namespace {

constexpr Duration last_call = 3s;
constexpr Duration stopping_time = 300ms;
constexpr Duration message_time = 100ms;
constexpr int most_requests = 600;  // a second

NodeLimits make_limits(World& world, const Scenario& scenario) {
  const std::size_t most = scenario.most == 20 && world.chance(0.03) ? 50 : scenario.most;
  const auto max = static_cast<int>(scenario.fewest + world.below(most - scenario.fewest + 1));
  if (world.chance(0.5)) return {max, max};
  return {1 + static_cast<int>(world.below(static_cast<std::size_t>(max))), max};
}

}  // namespace

Job::Job(std::uint64_t seed, const Scenario& scenario)
    : world_(seed, scenario.hosted),
      scenario_(scenario),
      limits_(make_limits(world_, scenario)),
      referee_(world_, limits_, scenario.mixed && scenario.faults) {
  world_.note(fmt::format("{} to {} nodes", limits_.min, limits_.max));
  for (int i = 0; i < limits_.max; ++i) add_at(world_.now() + world_.random().between(1us, 2s));
}

Job::Job(std::uint64_t seed, const Scenario& scenario, NodeLimits limits)
    : world_(seed, scenario.hosted), scenario_(scenario), limits_(limits), referee_(world_, limits, false) {}

// ---- nodes

SimAgent* Job::add() { return add(fmt::format("n{}", agents_.size())); }

SimAgent* Job::add(const std::string& addr) {
  AgentSpec spec;
  spec.settings.run_id = "sim";
  spec.settings.self = NodeDesc{addr, static_cast<int>(agents_.size()) + 100, 0};
  spec.settings.member.role = world_.chance(0.8) ? "trainer" : "reader";
  spec.settings.member.local_world_size = 1 + static_cast<int>(world_.below(8));
  spec.settings.nodes = limits_;
  spec.settings.last_call_timeout = last_call;
  if (scenario_.offset > 0s) spec.clock_offset = world_.random().between(-scenario_.offset, scenario_.offset);
  spec.admits = scenario_.admits;
  const bool torchrun = scenario_.mixed && world_.chance(0.4);
  agents_.push_back(torchrun ? make_torchrun(world_, referee_, spec) : make_ours(world_, referee_, spec));
  ++disturbances_;
  unquiet(world_.now());
  agents_.back()->start();
  return agents_.back().get();
}

void Job::add_at(Time when) {
  unquiet(when);
  world_.at(when, [this] { add(); });
}

// Another process on the same host, or another host.
void Job::replace(SimAgent& agent, Time when) {
  unquiet(when);
  const bool same_host = world_.chance(0.5);
  world_.at(when, [this, &agent, same_host] {
    if (agent.alive()) return;
    if (same_host) {
      add(agent.self().addr);
    } else {
      add();
    }
  });
}

std::vector<SimAgent*> Job::alive() {
  std::vector<SimAgent*> result;
  for (const auto& agent : agents_)
    if (agent->alive() && !agent->refused()) result.push_back(agent.get());
  return result;
}

bool Job::together() {
  std::optional<std::int64_t> round;
  int in = 0;
  int living = 0;
  for (const auto& agent : agents_) {
    if (!agent->alive() || agent->refused()) continue;
    ++living;
    if (!agent->round()) continue;
    if (round && round != agent->round()) return false;
    round = agent->round();
    ++in;
  }
  return in > 0 && in == std::min(living, limits_.max);
}

bool Job::run_until_together(Duration limit) {
  const Time end = world_.now() + limit;
  while (!together() && world_.now() < end) world_.run_until(world_.now() + 10ms);
  return together();
}

// ---- what befalls them

void Job::trouble() {
  auto candidates = alive();
  std::erase_if(candidates, [](const SimAgent* agent) { return agent->in_trouble(); });
  if (candidates.empty()) return;
  SimAgent& victim = *candidates[world_.below(candidates.size())];
  if (!scenario_.faults || world_.chance(0.4)) {
    ++disturbances_;
    unquiet(world_.now());
    return victim.fail_worker();
  }
  const Time now = world_.now();
  const bool ours = is_launch(victim.self());
  switch (world_.below(6)) {
    case 0:
      if (now >= calm_at_ && scenario_.hosted && !scenario_.mixed && together() && victim.round()) measure_loss();
      [[fallthrough]];
    case 1:
      replace(victim, now + world_.random().between(1ms, 4s));
      victim.kill();
      break;
    case 2:
      unquiet(now + silent_at_most);
      replace(victim, now + world_.random().between(1ms, 10s));
      victim.unplug();
      break;
    case 3:
      freeze(victim);
      break;
    case 4:
      if (ours && scenario_.hosted) {
        cut(victim);
      } else {
        freeze(victim);
      }
      break;
    default:
      if (ours && world_.chance(0.5)) {
        replace(victim, now + world_.random().between(1s, 4s));
        victim.leave();
      } else {
        add();
      }
  }
  ++disturbances_;
  unquiet(world_.now());
}

// One that is known at once costs messages and the time that workers take to end.
void Job::measure_loss() {
  const Time loss = world_.now();
  const int enough = static_cast<int>(alive().size()) - 1;
  if (enough < limits_.min) return;
  world_.at(loss + 1s + stopping_time, [this, loss, known = disturbances_ + 1] {
    if (disturbances_ != known) return;
    ++run_.losses;
    if (!together()) referee_.fault("a second after a loss the nodes are not together: " + describe());
    for (const SimAgent* agent : alive())
      if (agent->round()) run_.worst_loss = std::max(run_.worst_loss, agent->formed_at() - loss);
  });
}

void Job::freeze(SimAgent& victim) {
  // A torchrun agent that was thrown out while it stood still never notices.
  const Duration duration = world_.random().between(1s, is_launch(victim.self()) ? 40s : 9s);
  unquiet(world_.now() + duration);
  victim.freeze(duration);
}

// One node, or a part of the network.
void Job::cut(SimAgent& first) {
  const Duration duration = world_.random().between(100ms, 8s);
  const bool many = world_.chance(0.3);
  const Time mended = world_.now() + duration;
  for (SimAgent* agent : alive()) {
    const bool off = agent == &first || (many && world_.chance(0.5));
    if (!off || agent->in_trouble() || !is_launch(agent->self())) continue;
    replace(*agent, mended + stopping_time + world_.random().between(1ms, 2s));
    agent->cut(duration);
  }
  unquiet(mended + stopping_time);
}

// ---- a run

Run Job::play() {
  const int troubles = scenario_.hasty ? 40 : 2 + static_cast<int>(world_.below(8));
  for (int i = 0; i < troubles; ++i) {
    const Duration most = scenario_.hasty ? Duration(20ms) : world_.chance(0.3) ? Duration(1s) : Duration(20s);
    world_.run_until(world_.now() + world_.random().between(1ms, most));
    trouble();
  }
  settle();
  finish();
  const int most = scenario_.hosted ? most_requests * limits_.max / 8 : most_requests;
  if (world_.busiest_second() > std::max(most, most_requests))
    referee_.fault(fmt::format("{} requests within a second", world_.busiest_second()));
  return result();
}

Run Job::result() {
  run_.hash = world_.hash();
  run_.faults = referee_.faults();
  run_.story.assign(world_.story().begin(), world_.story().end());
  return run_;
}

// Faults have stopped: everybody must come together.
void Job::settle() {
  world_.run_until(std::max(calm_at_, world_.now()) + 1ms);
  const bool quick = scenario_.hosted && !scenario_.mixed;
  if (!scenario_.admits) {
    // Who has come meanwhile is let in when the others start anew.
    world_.run_until(world_.now() + last_call + 1s + stopping_time);
    for (SimAgent* agent : alive())
      if (agent->round()) {
        agent->fail_worker();
        break;
      }
  }
  const Time begin = world_.now();
  const Duration limit = quick ? last_call + 2 * (1s + stopping_time) : Duration(245s);
  if (!run_until_together(limit)) referee_.fault("the nodes do not come together: " + describe());
  run_.worst_settle = world_.now() - begin;
}

std::string Job::describe() {
  const auto state = read_state(world_.read(state_key("sim")));
  if (!state) return state.error().message;
  std::string who = fmt::format("round {}{}:", state->round, state->complete ? " complete" : "");
  for (const auto& [node, rank] : state->participants) who += " " + to_text(node);
  for (const auto& node : state->wait_list) who += " waits " + to_text(node);
  for (const auto& node : state->redundancy_list) who += " spare " + to_text(node);
  return who;
}

// Who joins after the end is refused.
void Job::finish() {
  world_.run_until(world_.now() + 2s);
  const auto nodes = alive();
  if (nodes.empty()) return;
  SimAgent* first = nodes.front();
  first->close();
  world_.run_until(world_.now() + 5s);
  for (SimAgent* agent : nodes) agent->fail_worker();
  add();
  world_.run_until(world_.now() + 10s);
  for (const auto& agent : agents_)
    if (agent.get() != first && is_launch(agent->self()) && agent->alive() && !agent->saw_closed())
      referee_.fault(to_text(agent->self()) + " does not hear of the end");
}

}  // namespace launch::sim

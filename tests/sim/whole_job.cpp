#include "whole_job.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace launch::sim {
using namespace std::chrono_literals;

namespace {

constexpr Duration after_waking = 500ms;  // for which a machine that stood still may still have old workers

}  // namespace

WholeJob::WholeJob(std::uint64_t seed, const WholeScenario& scenario)
    : events_(seed), network_(events_, scenario.longest_delay), scenario_(scenario) {}

play::NodeHost& WholeJob::add(play::NodeHost::Planner planner) {
  const int number = static_cast<int>(nodes_.size());
  const std::string host = "n" + std::to_string(number);
  Config config = scenario_.elastic ? play::elastic_config(host, 100 + number, {scenario_.fewest, scenario_.nodes})
                                    : play::static_config(number, scenario_.nodes);
  config.nproc_per_node = 1 + number % 3;
  config.restarts.max_restarts = scenario_.max_restarts;
  config.heartbeat_timeout = scenario_.heartbeat;
  config.rendezvous_timeout = 60s;
  if (config.elastic) config.elastic->settings.join_timeout = 60s;
  play::NodeHost::Eyes eyes;
  const auto at = nodes_.size();
  eyes.started = [this, at](const Round& round) { started(*nodes_[at], round); };
  eyes.gone = [this, at](const Round&) { gone(*nodes_[at]); };
  eyes.exited = [this, at](int code) { ended(*nodes_[at], code); };
  eyes.fault = [this](const std::string& what) { fault(what); };
  nodes_.push_back(std::make_unique<play::NodeHost>(network_, std::move(config), std::move(planner), std::move(eyes)));
  return *nodes_.back();
}

std::vector<play::NodeHost*> WholeJob::alive() {
  std::vector<play::NodeHost*> result;
  for (const auto& node : nodes_)
    if (node->alive()) result.push_back(node.get());
  return result;
}

void WholeJob::run_to_end(Duration limit) {
  const auto all_ended = [this] { return alive().empty(); };
  while (!all_ended() && events_.now() < later(quiet_at_, limit)) {
    const Time before = events_.now();
    events_.run_until(all_ended, std::max<Duration>(later(quiet_at_, limit) - before, 1s));
    if (events_.now() == before) events_.run_until(later(before, 1s));
  }
  for (const play::NodeHost* node : alive())
    fault(fmt::format("{} has not ended {} after the last trouble", node->host(), to_text(limit)));
}

std::string WholeJob::story() const {
  std::string text;
  for (const std::string& line : events_.story()) text += line + "\n";
  return text;
}

void WholeJob::fault(const std::string& what) {
  events_.note("FAULT " + what);
  faults_.push_back(what);
}

// ---- what must never be

// A machine that stands still, or has just woken: its guard ends what is old there.
bool WholeJob::is_excused(const play::NodeHost& node) {
  return events_.now() < later(network_.thaws_at(node.host()), after_waking);
}

void WholeJob::started(const play::NodeHost& node, const Round& round) {
  events_.note(fmt::format("{} starts round {}: rank {} of {}, restart {}", node.host(), round.number,
                           round.assignment.group_rank, round.assignment.group_world_size, round.restarts));
  for (const Running& other : running_)
    if (!is_excused(*other.node) && !is_excused(node)) check_pair(round, other, node.host());
  running_.push_back({round, &node});
  ++started_;
}

void WholeJob::freeze(std::size_t index, Duration duration) {
  nodes_[index]->freeze(duration);
  events_.in(duration + after_waking + 1ms, [this] { look_at_all(); });
}

void WholeJob::look_at_all() {
  for (const Running& one : running_)
    for (const Running& other : running_)
      if (one.node < other.node && !is_excused(*one.node) && !is_excused(*other.node))
        check_pair(one.round, other, one.node->host());
}

void WholeJob::check_pair(const Round& mine, const Running& other, const std::string& who) {
  const std::string pair = fmt::format("{} and {}", who, other.node->host());
  const Assignment& a = mine.assignment;
  const Assignment& b = other.round.assignment;
  if (mine.number != other.round.number)
    return fault(fmt::format("{} have workers of rounds {} and {} at once", pair, mine.number, other.round.number));
  if (mine.restarts != other.round.restarts)
    fault(fmt::format("{} count {} and {} restarts", pair, mine.restarts, other.round.restarts));
  if (a.group_rank == b.group_rank) fault(fmt::format("{} have node rank {}", pair, a.group_rank));
  if (a.world_size != b.world_size || a.group_world_size != b.group_world_size)
    fault(fmt::format("{} do not agree how many they are", pair));
  if ((a.group_rank < b.group_rank) != (a.base_global_rank < b.base_global_rank))
    fault(fmt::format("{} have ranks in another order than they are", pair));
}

void WholeJob::gone(const play::NodeHost& node) {
  events_.note(node.host() + " has no workers any more");
  std::erase_if(running_, [&](const Running& one) { return one.node == &node; });
}

void WholeJob::ended(const play::NodeHost& node, int code) {
  events_.note(fmt::format("{} ends with {}", node.host(), code));
  if (!same_ends_ || !node.formed()) return;  // one that never had a part has an end of its own
  if (code_.value_or(code) != code) fault(fmt::format("{} ends with {}, others with {}", node.host(), code, *code_));
  code_ = code;
}

}  // namespace launch::sim

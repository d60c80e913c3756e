#include "launch/core/hosts/host_table.hpp"

#include <algorithm>

namespace launch {

HostTable::HostTable(HeadPlan plan) : plan_(std::move(plan)), hosts_(plan_.nodes.size()) {
  counts_[static_cast<std::size_t>(State::waiting)] = size();
}

std::vector<std::string> HostTable::names(std::initializer_list<State> states) const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (std::find(states.begin(), states.end(), hosts_[i].state) != states.end()) all.push_back(plan_.nodes[i].host);
  return all;
}

void HostTable::move(int node, State state, Time when) {
  HeadHost& host = at(node);
  --counts_[static_cast<std::size_t>(host.state)];
  ++counts_[static_cast<std::size_t>(state)];
  host.state = state;
  host.due = later(when, limit_of(host));
}

void HostTable::drop(int node, const HostProblem& problem) {
  HeadHost& host = at(node);
  const bool left = host.state == State::waiting;  // already, because of its version
  if (host.state == State::running) {
    flush(node);
    say({problem});
    losses_.push_back(problem);
    move(node, State::lost, never);
  } else {
    problems_.push_back(problem);
    move(node, State::ended, never);
  }
  if (host.connected && !left) add(LeaveHost{node});
}

void HostTable::nonsense(int node, const std::string& what) {
  const HeadHost& host = at(node);
  const bool left = host.state == State::waiting || host.state == State::ended || host.state == State::lost;
  if (host.connected && !left) drop(node, {name(node), "what comes from there is not launch: " + what, 1});
}

void HostTable::flush(int node) {
  for (const bool errors : {false, true})
    (errors ? at(node).err : at(node).out).flush([&](std::string_view line) {
      add(ShowLines{errors, std::string(line) + '\n'});
    });
}

void HostTable::say(const std::vector<HostProblem>& problems) {
  for (std::string& line : fold_problems(problems)) add(SayLine{true, std::move(line)});
}

}  // namespace launch

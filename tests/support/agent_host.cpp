#include "agent_host.hpp"

namespace launch::play {

void AgentHost::kill() {
  if (!alive()) return;
  end();
  if (!running_) return;
  if (!told_) eyes_.failed(*running_, true);
  const auto round = *std::exchange(running_, std::nullopt);
  if (!immortal()) network_.events().in(plan_.dies_after, [this, round] { eyes_.gone(round); });
}

void AgentHost::lose_power() {
  vanish();
  network_.power_off(host());
  if (undisturbed()) eyes_.failed(*running_, true);
  if (const auto round = std::exchange(running_, std::nullopt)) eyes_.gone(*round);
}

void AgentHost::freeze(Duration duration) { network_.freeze(host(), later(network_.events().now(), duration)); }

void AgentHost::workers_start(const Round& round) {
  formed_ = true;
  if (running_) eyes_.fault(host() + " starts workers beside the last");
  running_ = last_ = round;
  told_ = false;
  plan_ = planner_(round);
  eyes_.started(round);
}

void AgentHost::workers_are_gone() {
  if (const auto round = std::exchange(running_, std::nullopt)) eyes_.gone(*round);
}

void AgentHost::exit(int code) {
  exit_code_ = code;
  if (running_ && !immortal()) eyes_.fault(host() + " ends and leaves workers behind");
  eyes_.exited(code);
  end();
}

}  // namespace launch::play

#include "launch/core/progress/hang_judge.hpp"

#include <algorithm>

namespace launch {

void HangJudge::begin(Time now) {
  next_ = later(now, timeout_);
  told_.reset();
}

bool HangJudge::must_ask(const Quiet& own, Time now) const {
  const bool counts = own.by_steps || !steps_;
  return now >= next_ && (!counts || own.time >= timeout_);
}

HangJudge::Opinion HangJudge::judge(const std::vector<NodeQuiet>& nodes, Time now) {
  Opinion opinion;
  bool by_steps = false;
  for (const NodeQuiet& node : nodes) {
    if (!node.quiet) opinion.unknown.push_back(node.node);
    by_steps = by_steps || (node.quiet && node.quiet->by_steps);
  }
  std::optional<Duration> least;
  for (const NodeQuiet& node : nodes)
    if (node.quiet && node.quiet->by_steps == by_steps)
      least = std::min(least.value_or(Duration::max()), node.quiet->time);
  const bool hangs = least && *least >= timeout_ && opinion.unknown.empty();
  // The one that was quiet for the shortest time may have been so for long enough then.
  const bool waits = least && *least < timeout_;
  next_ = later(now, waits ? timeout_ - *least : timeout_ / 4);
  const bool told = told_ && least && now - *told_ <= *least;  // nothing has happened since
  opinion.by_steps = by_steps;
  if (hangs && !told) opinion.hangs = least;
  if (!hangs) told_.reset();
  return opinion;
}

}  // namespace launch

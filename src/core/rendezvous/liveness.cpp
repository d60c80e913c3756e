#include "launch/core/rendezvous/liveness.hpp"

#include <algorithm>
#include <utility>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr int beats_per_timeout = 8;
constexpr int beats_for_majority = 20;  // a host must know soon that it has lost its majority
constexpr int intervals_per_lease = 3;  // a node's receipt is known an interval later, and so is up to two old
constexpr int looks_per_limit = 20;
constexpr Duration time_to_exit = 50ms;     // for workers whose time is over already
constexpr Duration longest_excuse = 250ms;  // to read what came during a sleep: old workers may last for 0.5 s after it
constexpr Duration between_two_nodes = 1ms;  // a beat that arrives alone costs the host some 15 us

}  // namespace

// A node that stalls for nine tenths of the time-out disturbs nobody. In the worst case a beat is the last thing that
// the host has heard, and the next beat, an interval later, is the first without an answer. That interval, the patience
// and the grace are over before the host's limit of silence is.
//
// Those who serve a majority have less patience, since the host may have answered them when it had lost its majority.
Heartbeat plan_heartbeat(Duration timeout, int nodes, Allegiance to) {
  if (timeout == Duration::zero()) return {};
  const bool by_majority = to == Allegiance::majority;
  Heartbeat plan;
  plan.interval =
      std::max<Duration>(timeout / (by_majority ? beats_for_majority : beats_per_timeout), between_two_nodes * nodes);
  plan.patience = timeout * (by_majority ? 7 : 9) / 10;
  plan.grace = timeout / 20;
  plan.silence = plan.interval + plan.patience + plan.grace + timeout / 50;
  return plan;
}

// The last beat was sent at most one interval before the agent stalled.
Duration longest_stall(Duration timeout, int nodes) {
  const Heartbeat plan = plan_heartbeat(timeout, nodes);
  return plan.patience + plan.grace;
}

Duration longest_unanswered(Duration timeout, int nodes) {
  const Heartbeat plan = plan_heartbeat(timeout, nodes, Allegiance::majority);
  return plan.interval + plan.patience + plan.grace + timeout * 3 / 100;
}

// A node that was answered at the end of the lease has no workers any more when longest_unanswered() is over. What is
// left is for their end.
LeasePlan plan_lease(Duration timeout, int nodes) {
  const Heartbeat plan = plan_heartbeat(timeout, nodes, Allegiance::majority);
  const Duration answers = plan.interval * intervals_per_lease;
  return {answers, answers + plan.silence + plan.interval * 2};
}

// A node that has stalled, or was cut off from the host, sees its end at most an interval and its patience later. What
// is left of the time is for the end of the workers.
Duration grace_after_host(Duration timeout) { return plan_heartbeat(timeout, 1).patience; }

Duration grace_after_host(Duration timeout, int nodes, Duration since_answer) {
  const Heartbeat plan = plan_heartbeat(timeout, nodes);
  return std::clamp(wait_after_host(timeout, nodes) - since_answer, plan.grace, grace_after_host(timeout));
}

Duration grace_under_lease(Duration timeout, int nodes, Duration since_answer) {
  const Heartbeat plan = plan_heartbeat(timeout, nodes, Allegiance::majority);
  return std::clamp(plan.silence - plan.grace - since_answer, plan.grace, std::max(plan.patience, plan.grace));
}

Duration grace_in_doubt(const Heartbeat& plan, Duration since_answer) {
  const Duration left = plan.interval + plan.patience + plan.grace - since_answer;
  return std::clamp(left, std::min(time_to_exit, plan.grace), plan.grace);
}

Duration wait_after_host(Duration timeout, int nodes) {
  return plan_heartbeat(timeout, nodes).silence + grace_after_host(timeout);
}

// ---- the host

Time SilenceWatch::plan_look(Time now) {
  planned_ = later(now, limit_ / looks_per_limit);
  return planned_;
}

void SilenceWatch::look(Time now) {
  look_ = now;
  overslept_ = now > later(planned_, limit_ / looks_per_limit);
}

bool SilenceWatch::is_silent(Signs& signs) const {
  const bool heard = std::exchange(signs.heard, false);
  if (heard || overslept_) signs.since = look_;
  return look_ - signs.since >= limit_;
}

// ---- a node

void Beats::set(Duration interval, Duration patience, Time now) {
  interval_ = interval;
  patience_ = patience;
  heard_of_ = lived_at_ = now;
  next_ = later(now, interval);
}

Beats::Act Beats::at(Time now) {
  if (!unanswered_) {
    unanswered_ = true;
    sent_ = now;
    next_ = later(now, interval_);
    return Act::beat;
  }
  if (excused_ || !has_slept(now)) return Act::silent;
  excused_ = true;
  heard_of_ = now + excuse() - interval_ - patience_;  // so that answer_by() is as far away as that
  return Act::wait;
}

Time Beats::answer_due(Time now) const { return has_slept(now) ? later(now, excuse()) : answer_by(); }

Duration Beats::excuse() const { return std::min(interval_, longest_excuse); }

void Beats::answered() {
  unanswered_ = false;
  answered(sent_);
}

void Beats::answered(Time asked) {
  heard_of_ = std::max(heard_of_, asked);
  lived_at_ = std::max(lived_at_, asked);
}

}  // namespace launch

#include "launch/core/agent/restart_policy.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/job/job.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration quick = 10s;  // workers that ran for less had hardly begun
constexpr int most_same_errors = 3;
constexpr Duration first_pause = 100ms;
constexpr Duration most_pause = 10s;

}  // namespace

void RestartPolicy::judge(Failure& failure, const Round& round, Duration lived, Time now) {
  const auto refusal = refuses(failure, round.restarts, lived, now);
  failure.restart = !refusal && round.can_restart;
  failure.restarts = failure.restart ? round.restarts + 1 : 0;
  if (refusal) {
    failure.why_final = *refusal;
  } else if (!round.can_restart) {
    failure.why_final = "a torchrun node cannot restart with the others";
  }
}

std::optional<std::string> RestartPolicy::refuses(const Failure& failure, int restarts, Duration lived, Time now) {
  if (rules_.max_restarts == 0) return "";
  const bool of_a_worker = failure.kind != Failure::Kind::hang;
  if (of_a_worker && rules_.fail_on.contains(failure)) return "--fail-on names it";
  if (of_a_worker && !rules_.restart_on.empty() && !rules_.restart_on.contains(failure))
    return "--restart-on does not name it";
  if (!rules_.repeat_errors && repeats(failure, lived))
    return "the same exception three times in a row; --repeat-errors would restart all the same";
  if (has_window()) restarts = within_window(now);
  if (restarts < rules_.max_restarts) return std::nullopt;
  const std::string within = has_window() ? fmt::format(" within {}", to_text(rules_.window)) : std::string();
  return fmt::format("limit reached (--max-restarts={}{})", restarts, within);
}

std::string RestartPolicy::restarted(int restarts, Time now) {
  if (!has_window()) return fmt::format("restart {} of {}", restarts, rules_.max_restarts);
  restarts_.push_back(now);
  return fmt::format("restart {} ({} of {} within {})", restarts, within_window(now), rules_.max_restarts,
                     to_text(rules_.window));
}

int RestartPolicy::within_window(Time now) {
  while (!restarts_.empty() && now - restarts_.front() >= rules_.window) restarts_.pop_front();
  return static_cast<int>(restarts_.size());
}

std::optional<std::string> RestartPolicy::refuses_change() {
  const bool admitted = admits_change();
  ++changes_;
  if (admitted) return std::nullopt;
  return fmt::format("nodes have joined or left {}, and --max-membership-restarts allows no more than {}",
                     counted(changes_, "time"), *rules_.max_membership_restarts);
}

bool RestartPolicy::admits_change() const {
  return !rules_.max_membership_restarts || changes_ < *rules_.max_membership_restarts;
}

// Only if the exception is known, is the worker's own and not what it saw of another one, and the workers got no
// further than the last ones.
bool RestartPolicy::repeats(const Failure& failure, Duration lived) {
  const bool own = !failure.detail.empty() && !speaks_of_others(failure);
  const bool same = failure.detail == last_error_ && lived <= last_lived_ * 3 / 2 + 1s;
  same_errors_ = !own ? 0 : same ? same_errors_ + 1 : 1;
  last_error_ = failure.detail;
  last_lived_ = lived;
  return same_errors_ >= most_same_errors;
}

Duration RestartPolicy::pause(Duration lived) {
  quick_failures_ = lived < quick ? quick_failures_ + 1 : 0;
  if (quick_failures_ <= 1) return Duration::zero();
  return std::min<Duration>(first_pause * (1 << std::min(quick_failures_ - 2, 10)), most_pause);
}

}  // namespace launch

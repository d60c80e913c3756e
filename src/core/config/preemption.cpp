#include "launch/core/config/preemption.hpp"

#include <chrono>
#include <csignal>

#include <fmt/format.h>

namespace launch {
namespace {

// For people: minutes as long as they are enough.
std::string in_words(std::chrono::seconds left) {
  constexpr std::chrono::seconds minutes(180);
  constexpr std::chrono::seconds hours(7200);
  if (left < minutes) return fmt::format("{} s", left.count());
  const auto count = std::chrono::floor<std::chrono::minutes>(left).count();
  return left < hours ? fmt::format("{} min", count) : fmt::format("{} h {} min", count / 60, count % 60);
}

}  // namespace

int warning_signal(const Preemption& preemption) { return preemption.signal == 0 ? SIGTERM : preemption.signal; }

std::optional<Duration> time_until_warning(const Preemption& preemption, WallTime now) {
  if (!preemption.job_end || preemption.notice == Duration::zero()) return std::nullopt;
  const Duration left = *preemption.job_end - now - preemption.notice;
  return left > Duration::zero() ? std::optional(left) : std::nullopt;
}

std::string too_late_to_warn(const Preemption& preemption, WallTime now) {
  if (preemption.notice == Duration::zero() || time_until_warning(preemption, now)) return "";
  if (*preemption.job_end <= now)
    return fmt::format("the time of this job is up ({}), so its workers are not warned", preemption.job_end_from);
  return fmt::format("this job has {} left, so its workers are not warned {} before its end",
                     time_left(preemption, now), to_text(preemption.notice));
}

std::string time_left(const Preemption& preemption, WallTime now) {
  if (!preemption.job_end) return "";
  const auto left = std::chrono::floor<std::chrono::seconds>(*preemption.job_end - now);
  const std::string text = left.count() > 0 ? in_words(left) : "none: its time is up";
  return fmt::format("{} ({})", text, preemption.job_end_from);
}

bool says_requeue(const Preemption& preemption, int exit_code) {
  return (preemption.requeue_warned || !preemption.requeue_on.empty()) && exit_code == preemption.requeue_exit;
}

int exit_code_for_scheduler(const Preemption& preemption, int code, bool warned) {
  const bool by_warning = code == 0 || code == 128 + warning_signal(preemption);
  if (preemption.requeue_warned && warned && by_warning) return preemption.requeue_exit;
  return preemption.requeue_on.codes.contains(code) ? preemption.requeue_exit : code;
}

}  // namespace launch

#include "launch/app/stop_progress.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"
#include "launch/io/process_look.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace launch {
namespace {

using Tenths = std::chrono::duration<std::int64_t, std::deci>;

}  // namespace

void StopProgress::tell() { told_ = now(); }

void StopProgress::count_down(std::optional<Time> kills_at, const WorkerGroup& workers) {
  if (!kills_at) return countdown_.reset();
  if (!countdown_) countdown_.emplace(now());
  if (!countdown_->due(now(), progress_interval())) return;
  const std::size_t left = workers.remaining().size();
  if (left > 0)
    log_progress(
        fmt::format("stopping: {} left; SIGKILL in {}", counted(left, "process", "es"), to_text(*kills_at - now())));
}

void StopProgress::tell_kill(const std::vector<pid_t>& left) const {
  const std::string why = told_ ? fmt::format("still running {} after being told to exit",
                                              to_text(std::chrono::round<Tenths>(now() - *told_)))
                                : std::string(left.size() == 1 ? "its time is up" : "their time is up");
  log_warning(fmt::format("{}: {}; sending SIGKILL", why, name_processes(left)));
}

}  // namespace launch

#include "launch/core/config/progress_settings.hpp"

#include "launch/core/progress/progress_pattern.hpp"

#include <chrono>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr double least_hang_timeout_s = 0.5;
constexpr double most_hang_timeout_s = 604'800;

}  // namespace

// All that workers write must pass launch, or a step in it would not be seen.
Status settle_progress(const Options& options, const HostFacts& /*facts*/, Config& config) {
  if (!options.progress.given()) return {};
  if (const auto pattern = ProgressPattern::compile(options.progress.value); !pattern) return pattern.error();
  if (options.worker_stderr.value == "inherit")
    return usage_error(fmt::format("{}: expected pass, since --progress needs launch to see what workers write",
                                   as_typed(options.worker_stderr)));
  if (options.log_writer.value == "workers")
    return usage_error(fmt::format("{}: expected launch, since --progress needs it to see what workers write",
                                   as_typed(options.log_writer)));
  config.logs.progress = options.progress.value;
  config.logs.taps_out = config.logs.through_launch = config.logs.listens = true;
  return {};
}

Status settle_hang(const Options& options, const HostFacts& /*facts*/, Config& config) {
  const double timeout = options.hang_timeout.value;
  if (timeout != 0 && !(timeout >= least_hang_timeout_s && timeout <= most_hang_timeout_s))
    return usage_error(fmt::format("{}: expected seconds from {} to {}, or 0", as_typed(options.hang_timeout),
                                   least_hang_timeout_s, most_hang_timeout_s));
  config.hang.timeout = of_seconds(timeout);
  if (Status fits = check_choice(options, &Options::on_hang); !fits) return fits;
  if (timeout == 0) return {};
  const std::string& deed = options.on_hang.value;
  if (deed == "restart" && config.restarts.max_restarts == 0)
    return usage_error(fmt::format("{}: expected --max-restarts as well, which allows it", as_typed(options.on_hang)));
  using Deed = HangChoice::Deed;
  config.hang.deed = deed == "restart" ? Deed::restart : deed == "fail" ? Deed::fail : Deed::report;
  config.logs.taps_out = config.logs.listens = true;
  return {};
}

}  // namespace launch

#include "launch/core/config/progress_settings.hpp"

#include "launch/core/progress/progress_pattern.hpp"

#include <fmt/format.h>

namespace launch {

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

}  // namespace launch

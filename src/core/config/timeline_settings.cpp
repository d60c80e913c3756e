#include "launch/core/config/timeline_settings.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

#include <string_view>

#include <fmt/format.h>

namespace launch {

// The first output of a worker is known if it passes launch. Who wants it otherwise gets the rest of the time line.
Status settle_timeline(const Options& options, const HostFacts& /*facts*/, Config& config) {
  if (!options.timeline.given()) return {};
  for (const std::string_view file : split(options.timeline.value, ',')) {
    std::string& which = file.ends_with(".json") ? config.timeline.json : config.timeline.html;
    const bool fits = file.size() > 5 && (file.ends_with(".html") || file.ends_with(".json")) && which.empty();
    if (!fits)
      return usage_error(fmt::format("{}: expected FILE.html, FILE.json, or one of each as in start.html,start.json",
                                     as_typed(options.timeline)));
    which = file;
  }
  config.logs.taps_out = true;
  if (options.log_writer.value != "workers") config.logs.through_launch = true;
  return {};
}

}  // namespace launch

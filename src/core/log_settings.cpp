#include "launch/core/log_settings.hpp"

#include "launch/core/text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

constexpr std::string_view digits = "0123456789";

// 0, 1, 2 or 3: which of stdout (1) and stderr (2).
bool is_streams(std::string_view text) { return text.size() == 1 && text[0] >= '0' && text[0] <= '3'; }

bool is_streams_of_rank(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  return text.substr(0, colon).find_first_not_of(digits) == std::string_view::npos &&
         is_streams(text.substr(colon + 1));
}

Status check_streams(const Setting<std::string>& setting) {
  const auto parts = split(setting.value, ',');
  if (is_streams(setting.value) || std::all_of(parts.begin(), parts.end(), is_streams_of_rank)) return {};
  return usage_error(
      fmt::format("{}: expected 0, 1, 2 or 3 (none, stdout, stderr, both), or LOCAL_RANK:NUMBER,... as in 0:3,1:1",
                  as_typed(setting)));
}

Status check_ranks(const Setting<std::string>& setting) {
  if (!setting.given()) return {};
  const auto parts = split(setting.value, ',');
  if (std::all_of(parts.begin(), parts.end(), [](std::string_view part) { return parse_int(part).has_value(); }))
    return {};
  return usage_error(fmt::format("{}: expected local ranks, as in 0,1,2", as_typed(setting)));
}

// REQUIRES: checked. The last digit of each part says which streams.
bool chooses_any(const Setting<std::string>& setting) {
  const auto parts = split(setting.value, ',');
  return std::any_of(parts.begin(), parts.end(), [](std::string_view part) { return part.back() != '0'; });
}

}  // namespace

Status settle_logs(const Options& options, const HostFacts& /*facts*/, Config& config) {
  for (const Setting<std::string>* streams : {&options.redirects, &options.tee})
    if (Status fits = check_streams(*streams); !fits) return fits;
  if (Status fits = check_ranks(options.local_ranks_filter); !fits) return fits;
  config.log_folder = options.log_dir.value;
  std::vector<std::string> unheeded;
  for (const Setting<std::string>* streams : {&options.redirects, &options.tee})
    if (chooses_any(*streams)) unheeded.push_back(streams->origin);
  for (const Setting<std::string>* setting : {&options.local_ranks_filter, &options.log_line_prefix_template,
                                              &options.duplicate_stdout_filters, &options.duplicate_stderr_filters})
    if (setting->given()) unheeded.push_back(setting->origin);
  if (!unheeded.empty())
    config.notices.push_back(
        fmt::format("{} without effect: this version writes no log files, all output goes to the console as it is",
                    fmt::join(unheeded, ", ")));
  unheeded.clear();
  for (const Setting<std::string>* plug_in : {&options.logs_specs, &options.event_log_handler})
    if (plug_in->given() && plug_in->value != "null") unheeded.push_back(as_typed(*plug_in));
  if (!unheeded.empty())
    config.notices.push_back(
        fmt::format("{} without effect: it names a Python plug-in of torchrun's", fmt::join(unheeded, ", ")));
  return {};
}

}  // namespace launch

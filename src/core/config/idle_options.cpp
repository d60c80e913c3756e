#include "launch/core/config/idle_options.hpp"

#include "launch/core/config/node_settings.hpp"
#include "launch/core/options/key_values.hpp"

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

// Puts all settings that were given into one sentence.
template <class... Settings>
void notice_idle(Config& config, std::string_view without, const Settings&... settings) {
  std::vector<std::string> idle;
  ((settings.given() ? idle.push_back(settings.origin) : void()), ...);
  if (idle.empty()) return;
  config.notices.push_back(
      fmt::format("{} {} no effect without {}", fmt::join(idle, ", "), idle.size() == 1 ? "has" : "have", without));
}

void notice_idle_keys(const Options& options, Config& config) {
  std::vector<std::string> idle;
  const auto conf = parse_key_values(options.rdzv_conf.value);
  for (const auto& [key, value] : *conf)
    if (is_c10d_key(key)) idle.push_back(key);
  if (!idle.empty())
    config.notices.push_back(fmt::format("{}: {} {} no effect without --rdzv-backend c10d", options.rdzv_conf.origin,
                                         fmt::join(idle, ", "), idle.size() == 1 ? "has" : "have"));
}

}  // namespace

void notice_idle_options(const Options& options, Config& config) {
  if (!shows_streams(config.logs)) notice_idle(config, "--tee", options.fold, options.color);
  if (!keeps_streams(config.logs))
    notice_idle(config, "--redirects or --tee", options.log_max_size, options.log_writer);
  if (config.restarts.max_restarts == 0)
    notice_idle(config, "--max-restarts", options.restart_on, options.fail_on, options.restart_window,
                options.repeat_errors);
  if (config.hooks.before.empty() && config.hooks.after.empty())
    notice_idle(config, "--before-workers or --after-workers", options.hook_timeout);
  if (options.hang_timeout.value == 0) notice_idle(config, "--hang-timeout", options.on_hang);
  if (options.requeue_on.value.empty()) notice_idle(config, "--requeue-on", options.requeue_exit);
  if (options.rdzv_backend.value == "static") notice_idle_keys(options, config);
}

}  // namespace launch

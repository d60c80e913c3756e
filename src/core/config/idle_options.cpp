#include "launch/core/config/idle_options.hpp"

#include "launch/core/config/node_settings.hpp"
#include "launch/core/config/store_settings.hpp"
#include "launch/core/options/key_values.hpp"

#include <algorithm>
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

// `known`: keys of c10d that this backend has, too.
void notice_idle_keys(const Options& options, Config& config, const std::vector<std::string_view>& known,
                      std::string_view why) {
  std::vector<std::string> idle;
  const auto conf = parse_key_values(options.rdzv_conf.value);
  for (const auto& [key, value] : *conf)
    if (is_c10d_key(key) && std::find(known.begin(), known.end(), key) == known.end()) idle.push_back(key);
  if (!idle.empty())
    config.notices.push_back(fmt::format("{}: {} {} no effect {}", options.rdzv_conf.origin, fmt::join(idle, ", "),
                                         idle.size() == 1 ? "has" : "have", why));
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
  if (options.rdzv_backend.value == "static") notice_idle_keys(options, config, {}, "without --rdzv-backend c10d");
  if (is_older_backend(options.rdzv_backend.value))
    notice_idle_keys(options, config, {"last_call_timeout", "close_timeout", "is_host"},
                     "with --rdzv-backend etcd, where timeout bounds the wait for other nodes");
}

}  // namespace launch

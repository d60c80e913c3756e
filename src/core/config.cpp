#include "launch/core/config.hpp"

#include "launch/core/job.hpp"
#include "launch/core/log_settings.hpp"
#include "launch/core/node_settings.hpp"
#include "launch/core/text.hpp"
#include "launch/core/worker_settings.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr int default_shutdown_timeout_s = 30;

Status settle_restarts(const Options& options, const HostFacts&, Config& config) {
  config.max_restarts = options.max_restarts.value;
  if (config.max_restarts < 0) {
    return usage_error(fmt::format("{}: expected 0 or more restarts", as_typed(options.max_restarts)));
  }
  if (config.max_restarts > 0) {
    config.notices.push_back(fmt::format("{}: this version does not restart workers; a failure ends the job",
                                         as_typed(options.max_restarts)));
  }
  return {};
}

Status settle_stopping(const Options& options, const HostFacts&, Config& config) {
  if (options.monitor_interval.value <= 0) {
    return usage_error(fmt::format("{}: expected seconds above 0", as_typed(options.monitor_interval)));
  }
  const int shutdown = options.shutdown_timeout.value.value_or(default_shutdown_timeout_s);
  if (shutdown < 0) {
    return usage_error(fmt::format("{}: expected 0 or more seconds",
                                   as_typed(options.shutdown_timeout.origin, std::to_string(shutdown))));
  }
  config.shutdown_timeout = std::chrono::seconds(shutdown);
  return {};
}

Status settle_signals(const Options& options, const HostFacts&, Config& config) {
  for (const std::string_view part : split(options.signals_to_handle.value, ',')) {
    const auto signal = signal_number(trim(part));
    if (!signal) {
      return usage_error(fmt::format("{}: {} is no signal; expected names as in SIGTERM,SIGUSR1",
                                     as_typed(options.signals_to_handle), shown(trim(part))));
    }
    if (*signal == SIGKILL || *signal == SIGSTOP || *signal == SIGCHLD) {
      return usage_error(fmt::format("{}: {} cannot be passed on; leave it out", as_typed(options.signals_to_handle),
                                     signal_name(*signal)));
    }
    if (std::find(config.signals.begin(), config.signals.end(), *signal) == config.signals.end())
      config.signals.push_back(*signal);
  }
  return {};
}

}  // namespace

Result<Config> settle(const Options& options, const HostFacts& facts) {
  Config config;
  config.hostname = facts.hostname;
  for (const auto step :
       {settle_nodes, settle_workers, settle_restarts, settle_stopping, settle_signals, settle_logs}) {
    if (Status done = step(options, facts, config); !done) return done.error();
  }
  return config;
}

}  // namespace launch

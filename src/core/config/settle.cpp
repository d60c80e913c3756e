#include "launch/core/config/settle.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/config/idle_options.hpp"
#include "launch/core/config/log_settings.hpp"
#include "launch/core/config/node_settings.hpp"
#include "launch/core/config/progress_settings.hpp"
#include "launch/core/config/worker_settings.hpp"
#include "launch/core/job/job.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr double least_heartbeat_s = 0.5;  // a loaded host may pause for so long
constexpr double most_heartbeat_s = 86'400;
constexpr double least_kill_grace_s = 0.1;  // the kernel needs a moment for any process
constexpr double most_kill_grace_s = 86'400;

// A set of exit codes and signals, and of one word that stands for another end.
struct Ends {
  EndSet set;
  bool has_word = false;
};

Result<Ends> read_ends(const Setting<std::string>& setting, std::string_view word) {
  Ends ends;
  if (!setting.given()) return ends;
  for (const std::string_view part : split(setting.value, ',')) {
    const std::string_view end = trim(part);
    const auto code = parse_int(end);
    const auto signal = signal_number(end);
    if (end == word) {
      ends.has_word = true;
    } else if (code && *code >= 1 && *code <= 255) {
      ends.set.codes.insert(*code);
    } else if (signal) {
      ends.set.codes.insert(128 + *signal);
    } else {
      return usage_error(fmt::format(
          "{}: {} is not a valid exit condition; expected exit codes from 1 to 255, signals such as SIGKILL, or {}",
          as_typed(setting), shown(end), word));
    }
  }
  return ends;
}

// With "start", for a worker that could not be started.
Status read_ends_of_worker(const Setting<std::string>& setting, EndSet& set) {
  auto ends = read_ends(setting, "start");
  if (!ends) return ends.error();
  set = std::move(ends->set);
  set.start = ends->has_word;
  return {};
}

Status settle_restarts(const Options& options, const HostFacts&, Config& config) {
  config.restarts.max_restarts = options.max_restarts.value;
  config.restarts.repeat_errors = options.repeat_errors.value;
  if (options.max_restarts.value < 0)
    return usage_error(fmt::format("{}: expected 0 or more restarts", as_typed(options.max_restarts)));
  if (Status read = read_ends_of_worker(options.restart_on, config.restarts.restart_on); !read) return read;
  if (Status read = read_ends_of_worker(options.fail_on, config.restarts.fail_on); !read) return read;
  config.restarts.max_membership_restarts = options.max_membership_restarts.value;
  if (const auto& most = options.max_membership_restarts; most.value.value_or(0) < 0)
    return usage_error(
        fmt::format("{}: expected 0 or more restarts", as_typed(most.origin, std::to_string(*most.value))));
  if (!options.restart_window.value) return {};
  const int window = *options.restart_window.value;
  if (window < 1) {
    return usage_error(
        fmt::format("{}: expected seconds above 0", as_typed(options.restart_window.origin, std::to_string(window))));
  }
  config.restarts.window = std::chrono::seconds(window);
  return {};
}

Status settle_stopping(const Options& options, const HostFacts&, Config& config) {
  if (options.monitor_interval.value <= 0) {
    return usage_error(fmt::format("{}: expected seconds above 0", as_typed(options.monitor_interval)));
  }
  const double heartbeat = options.heartbeat_timeout.value;
  if (heartbeat != 0 && !(heartbeat >= least_heartbeat_s && heartbeat <= most_heartbeat_s)) {
    return usage_error(fmt::format("{}: expected seconds from {} to {}, or 0", as_typed(options.heartbeat_timeout),
                                   least_heartbeat_s, most_heartbeat_s));
  }
  config.heartbeat_timeout = of_seconds(heartbeat);
  if (options.shutdown_timeout.value < 0)
    return usage_error(fmt::format("{}: expected 0 or more seconds", as_typed(options.shutdown_timeout)));
  config.shutdown_timeout = std::chrono::seconds(options.shutdown_timeout.value);
  const double grace = options.kill_grace.value;
  if (!(grace >= least_kill_grace_s && grace <= most_kill_grace_s)) {
    return usage_error(fmt::format("{}: expected seconds from {} to {}", as_typed(options.kill_grace),
                                   least_kill_grace_s, most_kill_grace_s));
  }
  config.kill_grace = of_seconds(grace);
  return {};
}

Status settle_verdict(const Options& options, const HostFacts&, Config& config) {
  const std::string& form = options.verdict.value;
  config.verdict.json = form == "json";
  if (form.starts_with("json:")) config.verdict.file = form.substr(5);
  // These two are as "files:", and are said by launch --hosts alone.
  config.verdict.logs_pass = form.starts_with("passing:");
  config.verdict.hosted = config.verdict.logs_pass || form.starts_with("hosted:");
  const bool two = config.verdict.hosted || form.starts_with("files:");
  if (const auto colon = form.find(':'), comma = form.find(','); two && comma != std::string::npos) {
    config.verdict.text_file = form.substr(colon + 1, comma - colon - 1);
    config.verdict.file = form.substr(comma + 1);
  }
  if (form == "text" || config.verdict.json || !config.verdict.file.empty()) return {};
  return usage_error(fmt::format("{}: expected text, json, json:FILE or files:TEXT,JSON", as_typed(options.verdict)));
}

Status refuse_detach(const Options& options, const HostFacts&, Config&) {
  if (!options.detach.given()) return {};
  return usage_error(
      fmt::format("{}: only a job of --hosts can go on in the background; use nohup or tmux", options.detach.origin));
}

Status refuse_gathering(const Options& options, const HostFacts&, Config&) {
  if (!options.gather_logs.given()) return {};
  return usage_error(
      fmt::format("{}: only a job of --hosts has logs to gather; use --log-dir", options.gather_logs.origin));
}

Status settle_evidence(const Options& options, const HostFacts&, Config& config) {
  const std::string_view text = options.evidence.value;
  const std::string_view what = text.substr(0, text.find(':'));
  EvidenceChoice& evidence = config.evidence;
  evidence.stacks = what == "stacks";
  evidence.states = evidence.stacks || what == "states";
  bool fits = evidence.states || text == "none";
  if (evidence.states && what.size() < text.size()) {
    const auto signal = signal_number(text.substr(what.size() + 1));
    evidence.stack_signal = signal.value_or(0);
    fits = signal && *signal != SIGKILL && *signal != SIGSTOP;
  }
  if (fits) return {};
  return usage_error(
      fmt::format("{}: expected none, states or stacks; states and stacks may be followed by a signal at which workers "
                  "print their stacks, as in stacks:SIGUSR2",
                  as_typed(options.evidence)));
}

Result<int> read_signal(std::string_view name, const Setting<std::string>& setting) {
  const auto signal = signal_number(name);
  if (!signal) {
    return usage_error(
        fmt::format("{}: {} is not a signal; expected names as in SIGTERM,SIGUSR1", as_typed(setting), shown(name)));
  }
  if (*signal == SIGKILL || *signal == SIGSTOP || *signal == SIGCHLD) {
    return usage_error(
        fmt::format("{}: {} cannot be passed on; leave it out", as_typed(setting), signal_name(*signal)));
  }
  return *signal;
}

Status settle_signals_of_node(const Options& options, const HostFacts&, Config& config) {
  return settle_signals(options, config.signals, config.preemption.signal);
}

Status settle_time_limit(const Options& options, Preemption& preemption) {
  if (!options.job_end.value.empty()) {
    preemption.job_end = parse_wall_time(options.job_end.value);
    if (!preemption.job_end)
      return usage_error(
          fmt::format("{}: expected seconds since 1970, as \"date +%s\" prints them", as_typed(options.job_end)));
    preemption.job_end_from = options.job_end.origin;
  }
  if (!options.stop_before_end.value) return {};
  const int notice = *options.stop_before_end.value;
  const std::string given = as_typed(options.stop_before_end.origin, std::to_string(notice));
  if (notice < 1) return usage_error(given + ": expected seconds above 0");
  if (!preemption.job_end)
    return usage_error(
        given +
        ": launch does not know when the job ends (SLURM_JOB_END_TIME is missing, or not used); give --job-end");
  preemption.notice = std::chrono::seconds(notice);
  return {};
}

Status settle_preemption(const Options& options, const HostFacts&, Config& config) {
  Preemption& preemption = config.preemption;
  if (Status settled = settle_time_limit(options, preemption); !settled) return settled;
  return settle_requeue(options, preemption);
}

}  // namespace

Status settle_requeue(const Options& options, Preemption& preemption) {
  auto ends = read_ends(options.requeue_on, "warned");
  if (!ends) return ends.error();
  preemption.requeue_on = std::move(ends->set);
  preemption.requeue_warned = ends->has_word;
  preemption.requeue_exit = options.requeue_exit.value;
  if (preemption.requeue_exit < 1 || preemption.requeue_exit > 255)
    return usage_error(fmt::format("{}: expected an exit code from 1 to 255", as_typed(options.requeue_exit)));
  return {};
}

Status settle_signals(const Options& options, std::vector<int>& ending, int& warning) {
  for (const std::string_view part : split(options.signals_to_handle.value, ',')) {
    const auto signal = read_signal(trim(part), options.signals_to_handle);
    if (!signal) return signal.error();
    if (std::find(ending.begin(), ending.end(), *signal) == ending.end()) ending.push_back(*signal);
  }
  if (!options.preempt_signal.given()) return {};
  const auto chosen = read_signal(options.preempt_signal.value, options.preempt_signal);
  if (!chosen) return chosen.error();
  warning = *chosen;
  return {};
}

Result<Config> settle(const Options& options, const HostFacts& facts) {
  Config config;
  config.hostname = facts.hostname;
  config.parent_error_file = facts.env.get("TORCHELASTIC_ERROR_FILE").value_or("");
  for (const auto step : {refuse_detach, refuse_gathering, settle_nodes, settle_workers, settle_restarts,
                          settle_stopping, settle_verdict, settle_evidence, settle_signals_of_node, settle_preemption,
                          settle_logs, settle_metrics, settle_progress, settle_hang, settle_timeline}) {
    if (Status done = step(options, facts, config); !done) return done.error();
  }
  notice_idle_options(options, config);
  config.answers_asks = true;
  for (const KernelLack& lack : facts.kernel_lacks) config.notices.push_back(to_text(lack));
  return config;
}

}  // namespace launch

#include "launch/core/cluster/slurm_life.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace launch {
namespace {

// Slurm's daemon that starts a task calls itself "slurmstepd: [8.0]", or [8.batch], [8.interactive], [8.extern].
constexpr std::string_view daemon_title = "slurmstepd: [";

// What the nearest of these daemons above this process is for: "8.0".
std::optional<std::string> step_above(const ProcessFacts& process) {
  for (const Ancestor& ancestor : process.ancestors) {
    const std::string_view command = ancestor.command;
    const auto end = command.find(']');
    if (command.starts_with(daemon_title) && end != std::string_view::npos)
      return std::string(command.substr(daemon_title.size(), end - daemon_title.size()));
  }
  return std::nullopt;
}

bool is_self_or_above(const ProcessFacts& process, int pid) {
  return pid == process.pid || std::any_of(process.ancestors.begin(), process.ancestors.end(),
                                           [&](const Ancestor& ancestor) { return ancestor.pid == pid; });
}

// A step's own number. Negative and very large ones are Slurm's words for the batch script and the like.
bool has_step_id(const Environment& env) {
  const auto number = parse_int(env.get("SLURM_STEP_ID").value_or(""));
  return number && *number >= 0 && *number < std::numeric_limits<int>::max();
}

// In each real step they agree; in a batch script that has inherited those of another step they rarely do.
bool agrees_with_job(const Environment& env) {
  return env.get("SLURM_STEP_NUM_NODES") == env.get("SLURM_NNODES") &&
         env.get("SLURM_STEP_NUM_TASKS") == env.get("SLURM_NTASKS") &&
         env.get("SLURM_STEP_TASKS_PER_NODE") == env.get("SLURM_TASKS_PER_NODE");
}

bool is_pty_shell(const Environment& env, const ProcessFacts& process, std::optional<int> task) {
  return env.get("SLURM_PTY_PORT") && process.terminal_in && task != process.pid;
}

bool in_cgroup_of_step(const Environment& env, const ProcessFacts& process) {
  const std::string path =
      fmt::format("job_{}/step_{}/", env.get("SLURM_JOB_ID").value_or(""), env.get("SLURM_STEP_ID").value_or(""));
  return process.cgroup.find(path) != std::string::npos;
}

}  // namespace

SlurmLife slurm_life(const Environment& env, const ProcessFacts& process) {
  const auto task = parse_int(env.get("SLURM_TASK_PID").value_or(""));
  const bool below_task = task && is_self_or_above(process, *task);
  if (const auto above = step_above(process)) {
    if (above->ends_with(".batch") || above->ends_with(".interactive")) return SlurmLife::allocation;
    const std::string own =
        fmt::format("{}.{}", env.get("SLURM_JOB_ID").value_or(""), env.get("SLURM_STEP_ID").value_or(""));
    const bool named = env.get("SLURM_JOB_ID") && env.get("SLURM_STEP_ID");
    if (named && *above != own && !below_task) return SlurmLife::ended;  // Slurm's names for heterogeneous jobs differ
    return is_pty_shell(env, process, task) ? SlurmLife::interactive : SlurmLife::step;
  }
  if (!has_step_id(env)) {
    const bool of_salloc = std::any_of(process.ancestors.begin(), process.ancestors.end(), [](const Ancestor& one) {
      return one.command.starts_with("salloc") || one.command.find("/salloc ") != std::string::npos;
    });
    return below_task || of_salloc ? SlurmLife::allocation : SlurmLife::ended;
  }
  if (below_task && is_pty_shell(env, process, task)) return SlurmLife::interactive;
  if (below_task) return agrees_with_job(env) ? SlurmLife::step : SlurmLife::allocation;
  if (in_cgroup_of_step(env, process)) return SlurmLife::step;
  if (process.sees_whole_host) return SlurmLife::ended;
  return agrees_with_job(env) ? SlurmLife::step : SlurmLife::doubtful;
}

}  // namespace launch

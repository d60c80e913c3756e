#include "launch/core/cluster/slurm_life.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  constexpr std::pair<std::string_view, std::string_view> pairs[] = {
      {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"},
      {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
      {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}};
  return std::all_of(std::begin(pairs), std::end(pairs), [&](const auto& names) {
    const auto of_step = env.get(names.first);
    const auto of_job = env.get(names.second);
    return !of_step || !of_job || of_step == of_job;  // people remove single ones
  });
}

// "bash -l", but not "bash job.sh": a shell that reads what a user types.
bool is_bare_shell(std::string_view command) {
  constexpr std::string_view shells[] = {"bash", "sh", "zsh", "dash", "ash", "ksh", "fish", "tcsh", "csh"};
  std::vector<std::string_view> words = split(command, ' ');
  std::string_view name = words.front();
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));  // npos + 1 is 0
  if (name.starts_with('-')) name.remove_prefix(1);                // a login shell
  words.erase(words.begin());
  return std::find(std::begin(shells), std::end(shells), name) != std::end(shells) &&
         std::all_of(words.begin(), words.end(), [](auto word) { return word.starts_with('-') && word != "-c"; });
}

// What the task was started as tells it on every node alike; where that is hidden, a terminal does.
bool is_pty_shell(const Environment& env, const ProcessFacts& process, std::optional<int> task) {
  if (!env.get("SLURM_PTY_PORT") || task == process.pid) return false;
  for (const Ancestor& ancestor : process.ancestors)
    if (ancestor.pid == task) return is_bare_shell(ancestor.command);
  return process.terminal;
}

// `step`: a number, or a word such as batch.
bool in_cgroup_of(const Environment& env, const ProcessFacts& process, std::string_view step) {
  const std::string path = fmt::format("job_{}/step_{}/", env.get("SLURM_JOB_ID").value_or(""), step);
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
  for (const char* word : {"batch", "interactive"})
    if (in_cgroup_of(env, process, word)) return SlurmLife::allocation;
  const bool inside = in_cgroup_of(env, process, env.get("SLURM_STEP_ID").value_or(""));
  if (!inside && !below_task && process.sees_whole_host) return SlurmLife::ended;
  if (is_pty_shell(env, process, task)) return SlurmLife::interactive;
  if (inside || agrees_with_job(env)) return SlurmLife::step;
  return below_task ? SlurmLife::allocation : SlurmLife::doubtful;
}

}  // namespace launch

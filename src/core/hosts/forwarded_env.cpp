#include "launch/core/hosts/forwarded_env.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/task_identity.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::string_view staying[] = {
    // the login's and the shell's own
    "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "TMP", "TEMP",
    // the host
    "HOSTNAME", "HOST", "HOSTTYPE",
    // the session and its terminal
    "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_VTNR", "STY", "TERM_SESSION_ID", "WINDOWID",
    "LS_COLORS",
    // one task or one node of a scheduler
    "PBS_TASKNUM", "PBS_NODENUM", "PBS_JOBCOOKIE", "JOB_COMPLETION_INDEX",
    // one worker
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "PET_NODE_RANK"};

// They choose among the devices of a host; another host may number its devices differently.
constexpr std::string_view device_choices[] = {
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",       "ROCR_VISIBLE_DEVICES",   "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",     "ASCEND_RT_VISIBLE_DEVICES", "HABANA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"};

// Each login has them, whoever logs in.
constexpr std::string_view of_a_login[] = {"HOME", "USER",   "LOGNAME", "SHELL", "PATH",           "LANG",
                                           "TZ",   "TMPDIR", "TMP",     "TEMP",  "XDG_RUNTIME_DIR"};

// Of the session, of the scheduler's task, and of another launcher's job.
constexpr std::string_view staying_beginnings[] = {
    "SSH_",  "XDG_SESSION_",     "DBUS_",  "TMUX", "TERM_PROGRAM", "LESS",        "BASH_FUNC_", "PMI_",
    "PMIX_", "OMPI_COMM_WORLD_", "SLURM_", "LSB_", "FLUX_",        "KUBERNETES_", "MASTER_",    "TORCHELASTIC_"};

// What speaks of the whole job, in spite of its beginning.
constexpr std::string_view of_the_job[] = {"SLURM_JOB_ID", "SLURM_CONF", "LSB_JOBID", "TORCHELASTIC_ENABLE_FILE_TIMER"};

template <std::size_t size>
bool is_in(const std::string_view (&names)[size], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_of_one_task(std::string_view name) {
  Environment one;
  one.set(std::string(name), "");
  return without_identity(one).lines().empty();
}

bool is_name(std::string_view text) {
  return !text.empty() && (text[0] < '0' || text[0] > '9') && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// One --env.
struct NamedVariable {
  std::string_view name;
  std::optional<std::string> value;
};

NamedVariable read_named(std::string_view text, const Environment& env) {
  const auto equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos) return {name, env.get(name)};
  return {name, std::string(text.substr(equals + 1))};
}

Status check_one(std::string_view text, const Environment& env) {
  const NamedVariable one = read_named(text, env);
  if (!is_name(one.name)) {
    const std::string hint = one.name.find(',') == std::string_view::npos ? "" : "; repeat --env for each variable";
    return usage_error(fmt::format("--env {}: {} is not the name of a variable{}", shown(text), shown(one.name), hint));
  }
  if (!one.value)
    return usage_error(fmt::format("--env {}: it is not set here; set it, or give a value: --env {}=VALUE",
                                   shown(one.name), shown(one.name)));
  return {};
}

}  // namespace

bool stays_here(std::string_view name) {
  if (is_in(of_the_job, name)) return false;
  return is_in(staying, name) || is_in(device_choices, name) || is_of_one_task(name) ||
         std::any_of(std::begin(staying_beginnings), std::end(staying_beginnings),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

Status check_named(const EnvironmentChoice& choice, const Environment& env) {
  for (const std::string& text : choice.named)
    if (Status done = check_one(text, env); !done) return done;
  return {};
}

Result<std::vector<std::string>> parse_variables(std::string_view text) {
  std::vector<std::string> variables;
  int number = 0;
  for (const std::string_view typed : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(typed);
    if (line.empty() || line.starts_with('#')) continue;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || !is_name(line.substr(0, equals)) || line.find('\0') != std::string::npos)
      return usage_error(fmt::format("line {}: expected NAME=VALUE, but it is {}", number, shown(line)));
    variables.emplace_back(line);
  }
  return variables;
}

std::vector<std::string> local_login(const Environment& env, const EnvironmentChoice& choice) {
  Environment result;
  for (const std::string& line : env.lines()) {
    const auto equals = line.find('=');
    const std::string name = line.substr(0, equals);
    if (is_in(of_a_login, name) || name.starts_with("LC_") || (!choice.none && is_in(device_choices, name)))
      result.set(name, line.substr(equals + 1));
  }
  return result.lines();
}

std::vector<std::string> options_of_variables(const Environment& env, bool (*is_left_out)(const OptionRow& row)) {
  std::vector<std::string> options;
  for (const OptionRow& row : option_table()) {
    const auto is_set = [&](std::string_view variable) { return env.get(variable).has_value(); };
    const auto variable = std::find_if(row.variables.begin(), row.variables.end(), is_set);
    if (variable == row.variables.end() || is_left_out(row)) continue;
    const std::string value = *env.get(*variable);
    if (row.takes != OptionValue::none)
      options.push_back(fmt::format("{}={}", row.name, value));
    else if (value == "1")
      options.emplace_back(row.name);
  }
  return options;
}

std::vector<std::string> forwarded(const Environment& env, const EnvironmentChoice& choice) {
  Environment result;
  for (const std::string& line : env.lines()) {
    const auto equals = line.find('=');
    const std::string name = line.substr(0, equals);
    if (choice.none ? name == "PATH" : !stays_here(name)) result.set(name, line.substr(equals + 1));
  }
  for (const std::string& text : choice.named)
    if (auto one = read_named(text, env); is_name(one.name) && one.value) result.set(std::string(one.name), *one.value);
  return result.lines();
}

}  // namespace launch

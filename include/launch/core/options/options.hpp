// The command line and the PET_* variables as the user gave them: text to typed values, each with its origin.
//
// Nothing here looks at the machine or checks one option against another; settle() does.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/base/error.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace launch {

// Where a value came from, worded for messages: "--nnodes", "PET_NNODES"; empty for a built-in default.
template <class T>
struct Setting {
  T value{};
  std::string origin;

  bool given() const { return !origin.empty(); }
};

// For messages: "--nnodes 0", "PET_NNODES=0".
std::string as_typed(const Setting<std::string>& setting);
std::string as_typed(const Setting<int>& setting);
std::string as_typed(const Setting<double>& setting);

struct Options {
  Setting<std::string> nnodes{"1", {}};
  Setting<std::string> nproc_per_node{"1", {}};
  Setting<int> node_rank{0, {}};
  Setting<std::string> master_addr{"127.0.0.1", {}};
  Setting<std::optional<int>> master_port;
  Setting<std::string> local_addr;
  Setting<bool> standalone;
  Setting<std::string> rdzv_backend{"static", {}};
  Setting<std::string> rdzv_endpoint;
  Setting<std::string> rdzv_id{"none", {}};
  Setting<std::string> rdzv_conf;
  Setting<std::string> join{"any", {}};
  Setting<bool> module;
  Setting<bool> no_python;
  Setting<bool> run_path;
  Setting<std::string> role{"default", {}};
  Setting<bool> virtual_local_rank;
  Setting<std::string> numa_binding;
  Setting<std::string> omp_threads;
  Setting<std::string> stdin_rank;
  Setting<std::string> start_method{"spawn", {}};
  Setting<int> max_restarts{0, {}};
  Setting<std::string> restart_on;
  Setting<std::string> fail_on;
  Setting<std::optional<int>> restart_window;  // seconds
  Setting<bool> repeat_errors;
  Setting<std::optional<int>> max_membership_restarts;
  Setting<double> monitor_interval{0.1, {}};     // seconds
  Setting<double> heartbeat_timeout{30, {}};     // seconds
  Setting<std::optional<int>> shutdown_timeout;  // seconds
  Setting<double> kill_grace{5, {}};             // seconds
  Setting<std::string> verdict{"text", {}};
  Setting<std::string> evidence{"states", {}};
  Setting<std::string> signals_to_handle{"SIGTERM,SIGINT,SIGHUP,SIGQUIT", {}};
  Setting<std::string> preempt_signal;
  Setting<std::string> log_dir;
  Setting<std::string> redirects{"0", {}};
  Setting<std::string> tee{"0", {}};
  Setting<std::string> local_ranks_filter;
  Setting<std::string> log_line_prefix_template;
  Setting<std::string> duplicate_stdout_filters;
  Setting<std::string> duplicate_stderr_filters;
  Setting<bool> fold;
  Setting<std::string> color{"auto", {}};
  Setting<std::string> log_writer{"auto", {}};
  Setting<std::string> log_max_size;
  Setting<std::optional<int>> log_max_files;
  Setting<std::string> logs_specs;
  Setting<std::string> event_log_handler{"null", {}};
  Setting<std::string> events;
  Setting<std::string> explain;           // "text" or "json"; empty: run the job
  std::string program;                    // script, module or executable, as typed
  std::vector<std::string> program_args;  // untouched
};

// --help, --version, --print-completion: print the text on standard output and exit 0.
struct TextCommand {
  std::string text;
};

using Command = std::variant<Options, TextCommand>;

// `args` is the command line without the program's own name.
// Precedence: flag, then PET_ variable, then default. The first token that is no option ends our options.
// Every error has code usage and names the flag or variable.
Result<Command> parse_command(const std::vector<std::string>& args, const Environment& env);

// A setting as text, for --explain. An empty origin means that the value is the default.
struct ShownSetting {
  std::string name;
  std::string value;
  std::string origin;
};

// In the order of the option table.
std::vector<ShownSetting> shown_settings(const Options& options);

}  // namespace launch

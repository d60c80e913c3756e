// Turns the command line and the PET_* variables, as the user gave them, into typed values, each with its source. The
// name of an option, how it is read and its default are in its row of option_table.
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

// Where a value comes from, the strongest source first: a value from one source hides those from the next ones.
enum class Source {
  flag,      // given on the command line
  variable,  // given in the environment
  cluster,   // not given, but what a scheduler says (config/cluster_settings)
  initial,   // not given: it is the default in the option's row
};

// Whether the user gave the value. Only then do rules refuse, ignore or notice one option because of another: a value
// from anybody else must never count as the user's choice.
constexpr bool is_user(Source source) { return source == Source::flag || source == Source::variable; }

// A value and its source; `origin` is worded for messages: "--nnodes", "PET_NNODES", empty for a default.
template <class T>
struct Setting {
  T value{};
  std::string origin{};
  Source source = Source::initial;

  bool given() const { return is_user(source); }
};

// For messages: "--nnodes 0", "PET_NNODES=0".
std::string as_typed(const Setting<std::string>& setting);
std::string as_typed(const Setting<int>& setting);
std::string as_typed(const Setting<double>& setting);

// parse_command() makes it, with the defaults of the table; Options that are made otherwise have no defaults.
struct Options {
  Setting<std::string> nnodes;
  Setting<std::string> nproc_per_node;
  Setting<int> node_rank;
  Setting<std::string> master_addr;
  Setting<int> master_port;
  Setting<std::string> local_addr;
  Setting<bool> standalone;
  Setting<std::string> cluster;
  Setting<bool> keep_cluster_env;
  Setting<std::string> rdzv_backend;
  Setting<std::string> rdzv_endpoint;
  Setting<std::string> rdzv_id;
  Setting<std::string> rdzv_conf;
  Setting<std::string> join;
  Setting<std::string> quorum;
  Setting<std::string> hosts;
  Setting<std::string> hostfile;
  Setting<std::string> include;
  Setting<std::string> exclude;
  Setting<std::string> start_with;
  Setting<std::string> ssh;
  Setting<int> fanout;
  Setting<std::string> network;
  Setting<std::string> gather_logs;
  Setting<std::string> detach;  // a file, or "auto"; empty: the job runs in the foreground
  Setting<std::string> env;     // the last of several; all are in the option line
  Setting<bool> env_none;
  Setting<bool> no_copy;
  Setting<bool> no_ifname;
  Setting<bool> check;
  Setting<bool> json;
  Setting<std::string> remote;
  Setting<bool> module;
  Setting<bool> no_python;
  Setting<bool> run_path;
  Setting<std::string> role;
  Setting<bool> virtual_local_rank;
  Setting<std::string> numa_binding;
  Setting<std::string> omp_threads;
  Setting<std::string> stdin_rank;
  Setting<std::string> start_method;
  Setting<std::string> before_workers;
  Setting<std::string> after_workers;
  Setting<double> hook_timeout;     // seconds
  Setting<double> wait_gpu_memory;  // seconds
  Setting<int> max_restarts;
  Setting<std::string> restart_on;
  Setting<std::string> fail_on;
  Setting<std::optional<int>> restart_window;  // seconds
  Setting<bool> repeat_errors;
  Setting<std::optional<int>> max_membership_restarts;
  Setting<double> monitor_interval;   // seconds
  Setting<double> heartbeat_timeout;  // seconds
  Setting<int> shutdown_timeout;      // seconds
  Setting<double> kill_grace;         // seconds
  Setting<std::string> verdict;
  Setting<std::string> evidence;
  Setting<double> hang_timeout;  // seconds; 0: off
  Setting<std::string> on_hang;
  Setting<std::string> signals_to_handle;
  Setting<std::string> preempt_signal;
  Setting<std::optional<int>> stop_before_end;  // seconds
  Setting<std::string> job_end;                 // seconds since 1970
  Setting<std::string> requeue_on;
  Setting<int> requeue_exit;
  Setting<std::string> log_dir;
  Setting<std::string> redirects;
  Setting<std::string> tee;
  Setting<std::string> local_ranks_filter;
  Setting<std::string> log_line_prefix_template;
  Setting<std::string> duplicate_stdout_filters;
  Setting<std::string> duplicate_stderr_filters;
  Setting<bool> verbose;
  Setting<bool> quiet;
  Setting<bool> fold;
  Setting<std::string> color;
  Setting<std::string> worker_stderr;
  Setting<std::string> log_writer;
  Setting<std::string> log_max_size;
  Setting<std::optional<int>> log_max_files;
  Setting<std::string> progress;
  Setting<std::string> logs_specs;
  Setting<std::string> event_log_handler;
  Setting<std::string> events;
  Setting<std::string> metrics;
  Setting<std::string> metrics_file;
  Setting<std::string> timeline;
  Setting<std::string> explain;           // "text" or "json"; empty: run the job
  std::string program;                    // script, module or executable, as typed
  std::vector<std::string> program_args;  // untouched
};

// --version, --print-completion: print the text on standard output and exit 0.
struct TextCommand {
  std::string text;
};

// --help, or -h if it is `brief`: the same with the text of options/help, which depends on the terminal's width.
struct HelpCommand {
  bool brief = false;
};

// --remote: wait on standard input for what launch --hosts says.
struct RemoteCommand {
  std::string protocol;
};

using Command = std::variant<Options, TextCommand, HelpCommand, RemoteCommand>;

// `args` is the command line without the program's own name.
// Sources are asked in the order of Source, but for `cluster`. The first token that is not an option ends our options.
// Every error has code usage and names the flag or variable.
Result<Command> parse_command(const std::vector<std::string>& args, const Environment& env);

// An error unless the member's value is one of its choices in the table; the error says "expected auto or never".
Status check_choice(const Options& options, Setting<std::string> Options::*member);

// A setting as text, for --explain.
struct ShownSetting {
  std::string name;
  std::string value;
  std::string origin;
  Source source = Source::initial;
};

// In the order of the option table.
std::vector<ShownSetting> shown_settings(const Options& options);

}  // namespace launch

// The command line and the PET_* variables as the user gave them: text to typed values, each with its origin.
//
// Nothing here looks at the machine or checks one option against another; config.hpp does.
#pragma once

#include "launch/core/environment.hpp"
#include "launch/core/error.hpp"

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

struct Options {
  Setting<std::string> nnodes{"1", {}};
  Setting<std::string> nproc_per_node{"1", {}};
  Setting<int> node_rank{0, {}};
  Setting<std::string> master_addr{"127.0.0.1", {}};
  Setting<std::optional<int>> master_port;
  Setting<std::string> rdzv_backend{"static", {}};
  Setting<std::string> rdzv_endpoint;
  Setting<std::string> rdzv_id{"none", {}};
  Setting<std::string> rdzv_conf;
  Setting<std::string> role{"default", {}};
  Setting<bool> standalone;
  Setting<bool> module;
  Setting<bool> no_python;
  Setting<double> monitor_interval{0.1, {}};     // seconds
  Setting<std::optional<int>> shutdown_timeout;  // seconds
  std::string program;                           // script, module or executable, as typed
  std::vector<std::string> program_args;         // untouched
};

// --help, --version: print the text on standard output and exit 0.
struct TextCommand {
  std::string text;
};

using Command = std::variant<Options, TextCommand>;

// `args` is the command line without the program's own name.
// Precedence: flag, then PET_ variable, then default. The first token that is no option ends our options.
// Every error has code usage and names the flag or variable.
Result<Command> parse_command(const std::vector<std::string>& args, const Environment& env);

}  // namespace launch

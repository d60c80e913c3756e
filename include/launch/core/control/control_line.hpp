// The command line of launch-ctl: which request goes to which job, or a text to print. app/control_command reads it.
// Bad input is an error of code usage that says what would be right.
// It finds no job and asks nobody.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/control/control_request.hpp"
#include "launch/core/control/log_since.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace launch {

struct ControlCommand {
  ControlRequest request;
  bool list = false;                // all jobs of this user on this host, and nothing of their workers
  bool json = false;                // the answers as they come, a line for each node
  std::string job;                  // a run id, or the pid of a launch; empty: the one job there is
  std::string node;                 // the rank or the host of the only node that is meant; empty: all
  std::string names;                // "jobs" or "nodes": their names, for completion; otherwise empty
  bool live = false;                // shows the state again and again
  bool follow = false;              // waits for more of the logs
  std::optional<LogSince> since{};  // only what was written since
  double interval_s = 1;            // between two looks
};

// A text for the standard output: help or version.
struct ControlText {
  std::string text;
};

Result<std::variant<ControlCommand, ControlText>> parse_control_line(std::vector<std::string> args);

}  // namespace launch

// Completion scripts of launch-ctl for shells: its commands and their options as the parser has them, and the jobs and
// nodes that are there when the user presses the key, which the script asks launch-ctl for. Nothing is printed and no
// shell is run: the text is returned.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/control/node_report.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct ControlWords {
  std::string command;
  std::string help;
  std::vector<std::string> options;  // "--json"
};

// `shell` is bash, zsh or fish; anything else is an error of code usage.
Result<std::string> control_completion(std::string_view shell, const std::vector<ControlWords>& commands);

// What a script completes: the run ids, or the ranks and hosts of nodes, one a line. Names that a shell could take for
// more than a word are left out.
std::string completed_jobs(const std::vector<NodeReport>& nodes);
std::string completed_nodes(const std::vector<NodeReport>& nodes);

}  // namespace launch

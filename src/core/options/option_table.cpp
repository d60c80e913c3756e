#include "launch/core/options/option_table.hpp"

#include "launch/core/options/ending_options.hpp"
#include "launch/core/options/host_options.hpp"
#include "launch/core/options/log_options.hpp"
#include "launch/core/options/node_options.hpp"
#include "launch/core/options/worker_options.hpp"

#include <algorithm>
#include <vector>

namespace launch {
namespace {

constexpr OptionRow other_rows[] = {
    {.name = "--explain",
     .member = &Options::explain,
     .takes = OptionValue::optional,
     .value = "[=json]",
     .text = "start nothing; print each setting and where it comes from, the ranks, and each worker's command and "
             "environment",
     .brief = "show what would be started, and why",
     .choices = {"text", "json"},
     .closed = Closed::for_flags,
     .ours = true},
    {.name = "--print-completion",
     .value = "SHELL",
     .text = "print a completion script for bash, zsh, tcsh or fish",
     .choices = {"bash", "zsh", "tcsh", "fish"},
     .ours = true},
    {.name = "--help",
     .short_name = "-h",
     .takes = OptionValue::none,
     .text = "print this text; -h prints the options that most people need",
     .brief = "this text; --help has every option"},
    {.name = "--version", .takes = OptionValue::none, .text = "print the version", .ours = true},
};

std::vector<const OptionRow*> all_rows() {
  std::vector<const OptionRow*> all;
  for (const std::span<const OptionRow> part : {node_options(), host_options(), worker_options(), ending_options(),
                                                log_options(), std::span<const OptionRow>(other_rows)}) {
    for (const OptionRow& row : part) all.push_back(&row);
  }
  return all;
}

}  // namespace

OptionTable option_table() {
  static const std::vector<const OptionRow*> rows = all_rows();
  return OptionTable(rows);
}

const OptionRow& row_of(const OptionMember& member) {
  auto row = option_table().begin();
  while ((*row).member != member) ++row;
  return *row;
}

std::string_view heading(OptionGroup group) {
  using enum OptionGroup;
  switch (group) {
    case nodes:
      return "Job and nodes";
    case hosts:
      return "Several hosts from one command";
    case rendezvous:
      return "Rendezvous (how the nodes find each other)";
    case workers:
      return "Workers";
    case ending:
      return "Failures and the end";
    case logs:
      return "Logs";
    case other:
      return "Other";
  }
  return "";
}

std::string underscored(std::string_view name) {
  std::string result(name.substr(0, 2));
  result += name.substr(2);
  std::replace(result.begin() + 2, result.end(), '-', '_');
  return result;
}

}  // namespace launch

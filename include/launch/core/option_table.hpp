// Every option of the command line, once: name, value, variables, default and words. Parsing, --help, completion and
// --explain all read this table; what a value means is in options.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace launch {

enum class OptionGroup {
  nodes,       // the job and its nodes
  rendezvous,  // how the nodes find each other
  workers,     // what is started, and how
  ending,      // restarts, signals, stopping
  logs,        // output and events
  other,       // texts about launch itself
};

// How a value follows its option.
enum class OptionValue {
  none,      // a switch
  required,  // --name=V or --name V
  optional,  // --name or --name=V
};

struct OptionRow {
  std::string name;          // "--nproc-per-node"; "--nproc_per_node" is as good
  std::string short_name{};  // "-m"; empty: none
  OptionGroup group = OptionGroup::other;
  OptionValue takes = OptionValue::required;
  std::string value{};                   // what stands for the value in help
  std::vector<std::string> variables{};  // the first that is set counts
  std::string initial{};                 // the default, as help shows it
  std::string text;                      // for help
  std::vector<std::string> choices{};    // for completion: the values, where there are only a few
  bool ours = false;                     // not torchrun 2.13's, so no abbreviation of one of its options may mean it
};

const std::vector<OptionRow>& option_table();

std::string_view heading(OptionGroup group);

// "--nproc_per_node"
std::string underscored(std::string_view name);

}  // namespace launch

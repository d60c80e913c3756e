// Cuts the command line into our options and the program with its arguments, by the rules of torchrun's parser: unique
// beginnings of long options, bundled short ones, "--"; everything from the program on is left alone.
//
// It checks no value. A beginning that fits two spellings of one option is not ambiguous here.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/options/option_table.hpp"

#include <optional>
#include <string>
#include <vector>

namespace launch {

struct GivenOption {
  const OptionRow* row;              // in option_table()
  std::optional<std::string> value;  // nullopt: it is a switch, or its optional value was left out
};

struct OptionLine {
  std::vector<GivenOption> options;  // in the order typed
  std::vector<std::string> program;  // and its arguments
  bool short_help = false;           // -h is among the options, and --help in full is not
};

// `args` is the command line without the program's own name. Every error has code usage.
Result<OptionLine> read_option_line(const std::vector<std::string>& args);

}  // namespace launch

// What --help, -h and --version print, ready for standard output, with the line end. It is made from the option table,
// so that no option is missing. tests/data/help.txt holds what --help prints in 80 columns, and the man page is checked
// against that. Used by app/commands.
#pragma once

#include "launch/core/options/options.hpp"

#include <cstddef>
#include <string>

namespace launch {

inline constexpr std::size_t usual_columns = 80;

// Lines fit a terminal of `columns`, from 60 on, and are at most 100 long. 0: there is no terminal.
std::string help_text(std::size_t columns = usual_columns);
// The options that most people need: at most 40 lines in 80 columns.
std::string short_help_text(std::size_t columns = usual_columns);
std::string text_of(const HelpCommand& command, std::size_t columns);
std::string version_text();

}  // namespace launch

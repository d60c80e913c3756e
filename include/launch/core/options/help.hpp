// What --help and --version print, ready for standard output, line end included. Made from the option table, so that no
// option is missing. tests/data/help.txt holds what is printed, and the man page is held to that. Neither asks for the
// width of the terminal.
#pragma once

#include <string>

namespace launch {

std::string help_text();
std::string version_text();

}  // namespace launch

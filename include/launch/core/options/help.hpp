// What --help and --version print, ready for standard output, with the line end. It is made from the option table, so
// that no option is missing. tests/data/help.txt holds what is printed, and the man page is checked against that.
// Neither text depends on the width of the terminal.
#pragma once

#include <string>

namespace launch {

std::string help_text();
std::string version_text();

}  // namespace launch

// What --help and --version print, ready for standard output, line end included.
#pragma once

#include <string>

namespace launch {

std::string help_text();
std::string version_text();

}  // namespace launch

// Completion scripts for shells, made from the option table: option names, the values of options that have only a few,
// and files for everything else. Prints nothing, and asks no shell: the text is returned. What a script completes is
// what the parser takes, since both read one table.
#pragma once

#include "launch/core/base/error.hpp"

#include <string>
#include <string_view>

namespace launch {

// `shell` is bash, zsh or tcsh; anything else is an error of code usage.
Result<std::string> completion_text(std::string_view shell);

}  // namespace launch

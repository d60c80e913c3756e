// Completion scripts for shells, made from the option table: option names, the values of options that have only a few,
// and files for everything else. Nothing is printed and no shell is run: the text is returned. A script completes what
// the parser accepts, since both read one table.
#pragma once

#include "launch/core/base/error.hpp"

#include <string>
#include <string_view>

namespace launch {

// `shell` is bash, zsh or tcsh; anything else is an error of code usage.
Result<std::string> completion_text(std::string_view shell);

}  // namespace launch

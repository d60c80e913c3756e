// Python's string.Template.safe_substitute: ${name} and $name become the value, $$ becomes $, any other $x stays. Used
// for prefixes of lines and for macros in the arguments of workers, which torchrun fills in the same way. A name
// without a value stays as it was written; nothing is an error.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace launch {

// Names are identifiers.
using TemplateValues = std::vector<std::pair<std::string_view, std::string>>;

std::string substitute(std::string_view text, const TemplateValues& values);

}  // namespace launch

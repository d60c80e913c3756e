// The grammar of --rdzv-conf: key=value,key=value; both sides trimmed; no quoting, no escapes; empty text is an empty
// map. Any text may come; the error says which part is wrong. Which keys there are, and what their values may be, is
// decided by whoever asks for the map.
#pragma once

#include "launch/core/base/error.hpp"

#include <map>
#include <string>
#include <string_view>

namespace launch {

using KeyValues = std::map<std::string, std::string, std::less<>>;

Result<KeyValues> parse_key_values(std::string_view text);

}  // namespace launch

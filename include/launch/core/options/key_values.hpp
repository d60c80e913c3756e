// The grammar of --rdzv-conf: key=value,key=value; both sides are trimmed; no quoting, no escapes; empty text is an
// empty map. Any text may be given; the error says which part is wrong. The caller decides which keys there are, and
// which values they may have.
#pragma once

#include "launch/core/base/error.hpp"

#include <map>
#include <string>
#include <string_view>

namespace launch {

using KeyValues = std::map<std::string, std::string, std::less<>>;

Result<KeyValues> parse_key_values(std::string_view text);

}  // namespace launch

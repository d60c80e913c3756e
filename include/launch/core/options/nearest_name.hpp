// What the user may have meant: the known name that is nearest to a mistyped one. Used for a mistyped option and a
// mistyped choice. It proposes only a name that is near: a far-fetched proposal is worse than none. Any text may be
// given. The time grows with the product of both lengths, which are bounded by the length of a command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

// The name that begins with `typed`, if there is only one; otherwise the name that is the fewest single-letter edits
// away, if these are at most a third of the letters typed. Leading dashes do not count, and '_' is as good as '-'.
std::optional<std::string> nearest_name(std::string_view typed, const std::vector<std::string>& known);

}  // namespace launch

// What the user may have meant: the known name that is nearest to a mistyped one. Used for a mistyped option and a
// mistyped choice. It proposes only what is near: a far-fetched proposal is worse than none. Any text may come. Takes
// time in proportion to the product of both lengths, which are bounded by what a command line has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

// A name of which `typed` is the beginning, if there is only one; else the one with the fewest single-letter edits,
// if those are at most a third of what was typed. Leading dashes do not count, and '_' is as good as '-'.
std::optional<std::string> nearest_name(std::string_view typed, const std::vector<std::string>& known);

}  // namespace launch

// Lists of ranks, or of node ranks, as people read them: 0, 1, 2 and 4 are "0-2, 4".
// Used by the verdict, by lines about nodes, and in what nodes tell each other. It knows numbers below a million, and
// never takes longer than a million of them do, whatever a text says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace launch {

std::string as_ranges(const std::vector<int>& ascending);
// "rank 7", "ranks 0-3, 7"; of ranges longer than `longest` only the first, as "ranks 0-3, ...".
std::string ranges_in_words(std::string_view noun, const std::vector<int>& ascending,
                            std::size_t longest = std::string_view::npos);
// Ascending; what is not a number is left out, and so are numbers that are out of bounds.
std::vector<int> from_ranges(std::string_view text);

}  // namespace launch

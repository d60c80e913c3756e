// Turns text into scalars, and values into the text of a message. Used on every floor. Pure; any bytes may come.
//
// Text from outside must be bounded and free of control characters before it reaches a terminal: shown() and
// without_controls() make it so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

// Without ASCII white space at both ends.
std::string_view trim(std::string_view text);

// The parts between separators, as views into `text`; always at least one.
std::vector<std::string_view> split(std::string_view text, char separator);

// A decimal whole number, white space around it allowed as in Python's int(); beyond int's range it becomes int's
// limit.
std::optional<int> parse_int(std::string_view text);

// A finite decimal number, white space around it allowed.
std::optional<double> parse_decimal(std::string_view text);

// A whole number (true unless 0), or true, false, yes, no in any case.
std::optional<bool> parse_bool(std::string_view text);

// For a message: one line of bounded length; control bytes are escaped, empty text and white space are quoted.
std::string shown(std::string_view text);

// As a shell needs it written, so that it can be pasted: quoted if it must be, control bytes escaped as in $'a\nb'.
std::string for_shell(std::string_view word);
// A command line: such words with blanks between.
std::string for_shell(const std::vector<std::string>& words);

// "1 node", "3 nodes"; with the ending "es": "2 processes".
std::string counted(std::int64_t count, std::string_view noun, std::string_view ending = "s");

// At most `most` bytes from the beginning, cut between characters of UTF-8.
std::string_view beginning_of(std::string_view text, std::size_t most);

// As many whole clauses of a line, which "; " separates, as fit into `columns`, and "..." if some are left out. Whoever
// writes such a line puts what matters most first.
std::string first_clauses(std::string_view line, std::size_t columns);

// As many whole lines from the beginning as fit into `most` bytes, or one longer line; the whole text if no line ends.
std::string_view first_lines(std::string_view text, std::size_t most);

// For a message: text from outside with a space for each control character, since these must not reach the user's
// terminal; at most `most` bytes, cut between characters of UTF-8.
std::string without_controls(std::string_view text, std::size_t most);

// Without the escape sequences that color text on a terminal or move its cursor; an unfinished one extends to the end.
std::string without_colors(std::string_view text);

// A value with the flag or variable it came from, as the user would type it: "--nnodes 0", "PET_NNODES=0".
std::string as_typed(std::string_view origin, std::string_view value);

}  // namespace launch

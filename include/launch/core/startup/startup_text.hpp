// How the ranks of a job have started, for people: the lines of launch's message, and the screen of launch-ctl with a
// bar for each node and for the ranks that the others waited for. Pure. Host names come from outside; nothing of them
// can move the reader's cursor. It decides neither when something is told nor whom the others waited for.
#pragma once

#include "launch/core/startup/startup_table.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace launch {

inline constexpr std::size_t slowest_told = 5;

// "node 1 (n1)".
std::string node_in_words(const StartupTable& table, int node);
// What the rank did until it came: "12.5 s to its first output, 1.5 s from there to the store".
std::string phases_in_words(const StartupRank& rank);
// When the group has formed; the node that is slower than the others, if there is one; the slowest ranks.
std::vector<std::string> startup_lines(const StartupTable& table);
// Also before the last rank has come: then those that are missing are first.
std::string startup_screen(const StartupTable& table, std::size_t columns);

}  // namespace launch

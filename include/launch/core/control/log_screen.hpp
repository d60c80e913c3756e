// New lines of the workers' logs as launch-ctl shows them, each with the rank that wrote it. Pure. A bar that is drawn
// over itself is shown as it was last, and nothing that a terminal would obey is left. Lines are as long as they were
// written.
#pragma once

#include "launch/core/control/screen_text.hpp"

#include <set>
#include <string>
#include <utility>

namespace launch {

std::string log_screen(const Screen& screen);
// What nodes say beside their logs: why they have none, and what to know about these. Of each node once: `told` has
// what was said before. Nodes that say the same share a line.
using WordsTold = std::set<std::pair<int, std::string>>;
std::string words_beside_logs(const std::vector<NodeReport>& nodes, WordsTold& told);

}  // namespace launch

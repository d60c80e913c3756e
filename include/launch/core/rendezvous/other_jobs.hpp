// Which jobs use a store, as the names of its keys tell: two jobs that were meant to be one differ in their run id.
// Used for a hint while nodes are missing; nothing is decided by it. Names from the store are escaped, and bounded in
// number and length.
#pragma once

#include <string>
#include <vector>

namespace launch {

// Run ids other than `own`, as text to be shown, each once; only the first few.
std::vector<std::string> other_run_ids(const std::vector<std::string>& keys, const std::string& own);

}  // namespace launch

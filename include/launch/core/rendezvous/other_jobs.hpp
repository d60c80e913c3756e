// Which jobs use a store, told from the names of its keys: two jobs that were to be one differ in their run id. For a
// hint while nodes are missing; nothing is decided by it. Names from the store are escaped, and bounded in number and
// length.
#pragma once

#include <string>
#include <vector>

namespace launch {

// Run ids other than `own`, as text to be shown, each once; a handful at most.
std::vector<std::string> other_run_ids(const std::vector<std::string>& keys, const std::string& own);

}  // namespace launch

// Which jobs use a store, told from the names of its keys: two jobs that were to be one differ in their run id.
#pragma once

#include <string>
#include <vector>

namespace launch {

// Run ids other than `own`, as text to be shown, each once; a handful at most.
std::vector<std::string> other_run_ids(const std::vector<std::string>& keys, const std::string& own);

}  // namespace launch

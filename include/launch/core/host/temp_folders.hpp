// Where the folder of a job without --log-dir may be made. Used by JobFolder, which tries the places in turn. It looks
// at no disk and makes nothing. Files that are needed only while the job runs are better kept in memory, which cannot
// stall. A variable that names a place wins over both.
#pragma once

#include "launch/core/base/environment.hpp"

#include <string>
#include <vector>

namespace launch {

// The places that Python's tempfile tries, in its order: use the first that can be written to. `in_memory`: memory
// comes before the others, except those that a variable names.
std::vector<std::string> temp_folders(const Environment& env, bool in_memory);

}  // namespace launch

// Where the folder of a job without --log-dir may be made. Used by JobFolder, which tries them in turn. It looks at no
// disk and makes nothing. What is needed only while the job runs is better kept in memory, which cannot stall. A
// variable that names a place wins over both.
#pragma once

#include "launch/core/base/environment.hpp"

#include <string>
#include <vector>

namespace launch {

// The places that Python's tempfile tries, in its order; the first that can be written to is meant. `in_memory`: rather
// there, where no variable names a place.
std::vector<std::string> temp_folders(const Environment& env, bool in_memory);

}  // namespace launch

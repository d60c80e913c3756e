// Where the folder of a job without --log-dir may be made.
#pragma once

#include "launch/core/base/environment.hpp"

#include <string>
#include <vector>

namespace launch {

// The places that Python's tempfile tries, in its order; the first that can be written to is meant. `in_memory`: rather
// there, where no variable names a place.
std::vector<std::string> temp_folders(const Environment& env, bool in_memory);

}  // namespace launch

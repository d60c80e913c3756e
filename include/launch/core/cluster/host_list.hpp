// Slurm's lists of hosts, as in SLURM_STEP_NODELIST: "n[1-3,08]-ib,login" stands for n1-ib, n2-ib, n3-ib, n08-ib and
// login. Several brackets give the product, the left one slowest; a number is as wide as the first of its range. Pure;
// no name is looked up. Errors say what is wrong with the list, in one line.
#pragma once

#include "launch/core/base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

// The hosts in their order; at least one, at most 65,536.
Result<std::vector<std::string>> parse_host_list(std::string_view text);

}  // namespace launch

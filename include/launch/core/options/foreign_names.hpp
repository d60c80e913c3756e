// What the options of other launchers (mpiexec, srun, accelerate, deepspeed) are called here. Used for the error about
// an unknown option: people bring their habits along. It never makes such a name valid, and knows no abbreviation. Any
// text may be given.
#pragma once

#include <optional>
#include <string_view>

namespace launch {

// "for workers on each node give --nproc-per-node"; nullopt: nobody calls an option so. '_' is as good as '-'.
std::optional<std::string_view> hint_for_foreign(std::string_view name);

}  // namespace launch

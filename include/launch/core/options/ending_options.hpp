// The rows of the options about restarts, signals and the end of a job. Their rules are in config/settle. Only
// option_table() reads these rows; it has those of all groups in the order of --help. A row is text and pointers: it
// decides nothing.
#pragma once

#include "launch/core/options/option_table.hpp"

#include <span>

namespace launch {

std::span<const OptionRow> ending_options();

}  // namespace launch

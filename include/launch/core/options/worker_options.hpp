// The rows of the options about what is started on this node, and how. Their rules are those of
// config/worker_settings. Read by option_table() alone, which has the rows of all groups in the order of --help. A row
// is text and pointers: it decides nothing.
#pragma once

#include "launch/core/options/option_table.hpp"

#include <span>

namespace launch {

std::span<const OptionRow> worker_options();

}  // namespace launch

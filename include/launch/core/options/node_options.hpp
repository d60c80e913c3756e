// The rows of the options about the job and its nodes, and about how these find each other. Their rules are in
// config/node_settings. Only option_table() reads these rows; it has those of all groups in the order of --help. A row
// is text and pointers: it decides nothing.
#pragma once

#include "launch/core/options/option_table.hpp"

#include <span>

namespace launch {

std::span<const OptionRow> node_options();

}  // namespace launch

// The rows of the options by which one command starts all hosts. Their rules are in config/hosts_settings. Only
// option_table() reads these rows; it has those of all groups in the order of --help. A row is text and pointers: it
// decides nothing.
#pragma once

#include "launch/core/options/option_table.hpp"

#include <span>

namespace launch {

std::span<const OptionRow> host_options();

}  // namespace launch

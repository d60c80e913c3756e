// The file that PALS_APINFO names: in it HPE's PALS, and Flux or Slurm in its place, tells each rank about all others.
// Native C structures behind a header that has their sizes and offsets. What is read is bounded and checked. Pure;
// io/process_facts reads the file.
//
// Source: the header of version 1 and 5 as Slurm 22.05 and 24.11 and flux-coral2 write it.
#pragma once

#include "launch/core/base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct ApInfo {
  std::vector<std::string> hosts;  // of the ranks, in their order; at least one
  std::vector<int> local_ranks;    // on these hosts
};

// An error says what is wrong with the file, in one line.
Result<ApInfo> parse_apinfo(std::string_view bytes);

}  // namespace launch

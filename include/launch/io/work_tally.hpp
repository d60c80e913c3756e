// What a worker and its children have used so far, by /proc: processors, memory, files; and whether one of them has an
// accelerator open. For --hang-timeout, on a thread that may wait for a disk. It changes nothing, and leaves out what
// cannot be seen.
#pragma once

#include "launch/core/progress/hang_watch.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace launch {

// Without `output`, since only that may wait for a disk for long.
WorkTally tally_of(pid_t worker);

// The sizes of these files together; one that is not there has none.
std::uint64_t size_together(const std::vector<std::string>& files);

// Whether this is the device file of an accelerator that programs compute on.
bool is_accelerator_file(const std::string& path);

}  // namespace launch

// Asks the kernel for the newer calls that launch uses, each in a form that changes nothing. Called for --explain only,
// since it costs some look-ups; see core/host/kernel_lack for what the answers mean. It makes no process, no file and
// no control group.
#pragma once

#include "launch/core/host/kernel_lack.hpp"

#include <vector>

namespace launch {

std::vector<KernelLack> kernel_lacks();

}  // namespace launch

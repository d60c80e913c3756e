// All processes of this host that can be seen in /proc, with what core/hosts/left_overs needs to know of them. Used by
// io/host_probe in a process of its own, since the environment and the command line of a process that is stuck in the
// kernel may not be readable for any time. It signals nobody. A process of another network namespace, such as that of
// another container, is not on this host.
#pragma once

#include "launch/core/hosts/left_overs.hpp"

#include <unordered_set>
#include <vector>

namespace launch {

// `on_gpus`: the processes that are known to hold a GPU. At most some ten thousand; what ends meanwhile is left out.
std::vector<SeenProcess> seen_processes(const std::unordered_set<int>& on_gpus);

}  // namespace launch

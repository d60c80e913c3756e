// DeepSpeed's words for --include and --exclude: hosts between "@", each with local devices if not all are meant, as in
// "n1@n[2-3]:0,2". Used by the head on the hosts of --hosts or --hostfile. Pure; which devices a host really has is not
// known here. An error is one sentence that begins with the option as it was typed (usage).
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/hosts/host_entry.hpp"

#include <string_view>
#include <vector>

namespace launch {

// Empty texts select nothing and all hosts stay; both must not be given. The order stays that of `hosts`.
// include: only the hosts that are named stay; if devices are named, they are its `devices`, and their number is its
// `workers`. exclude: the hosts that are named go; if devices are named, the host keeps the others, and goes when none
// is left. Excluding devices takes `workers` to be known.
Result<std::vector<HostEntry>> select_hosts(std::vector<HostEntry> hosts, std::string_view include,
                                            std::string_view exclude);

}  // namespace launch

// A list of hosts in few words: n1, n2, n3 and n5 are "n[1-3,5]". Used by messages of launch --hosts. Pure; it takes
// milliseconds for 10,000 hosts. Never changes a name: what it writes can be read again by core/cluster/host_list, if
// the names can be written there. A name that has a comma, a blank or a bracket is shown as it is.
#pragma once

#include <string>
#include <vector>

namespace launch {

// "n[1-4,7],login": names that differ in one number become ranges; the order of the first of each group is kept. Equal
// names count once. Numbers of a user's name or of a port are left alone.
std::string fold_hosts(const std::vector<std::string>& hosts);

}  // namespace launch

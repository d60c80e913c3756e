#include "launch/core/hosts/host_tree.hpp"

#include <algorithm>
#include <cmath>

namespace launch {

std::vector<int> starters_of(int hosts, int fanout) {
  constexpr int flat_windows = 4;
  std::vector<int> starters(static_cast<std::size_t>(hosts), started_by_head);
  if (hosts <= flat_windows * fanout) return starters;
  const int first = std::max(fanout, static_cast<int>(std::ceil(std::sqrt(hosts))));
  for (int node = first; node < hosts; ++node) starters[static_cast<std::size_t>(node)] = node % first;
  return starters;
}

}  // namespace launch

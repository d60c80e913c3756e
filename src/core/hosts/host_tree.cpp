#include "launch/core/hosts/host_tree.hpp"

namespace launch {

std::vector<int> starters_of(int hosts, int fanout) {
  constexpr int flat_windows = 4;
  std::vector<int> starters(static_cast<std::size_t>(hosts), started_by_head);
  if (hosts <= flat_windows * fanout) return starters;
  int first = fanout;
  while (first * first < hosts) ++first;
  for (int node = first; node < hosts; ++node) starters[static_cast<std::size_t>(node)] = node % first;
  return starters;
}

}  // namespace launch

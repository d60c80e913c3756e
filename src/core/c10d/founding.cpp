#include "launch/core/c10d/founding.hpp"

#include <algorithm>

namespace launch {

bool may_found(const std::vector<Hearsay>& said, bool waited) {
  const auto silent = std::count(said.begin(), said.end(), Hearsay::silent);
  if (std::count(said.begin(), said.end(), Hearsay::job) > 0) return false;
  if (silent == 0) return true;
  return waited && 2 * silent < static_cast<std::ptrdiff_t>(said.size());
}

}  // namespace launch

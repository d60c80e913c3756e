#include "launch/io/shown_ranks.hpp"

namespace launch {

void ShownRanks::show(const std::set<int>& shown) {
  for (std::size_t rank = 0; rank < muted_.size(); ++rank)
    muted_[rank].store(!shown.empty() && !shown.contains(static_cast<int>(rank)), std::memory_order_relaxed);
}

}  // namespace launch

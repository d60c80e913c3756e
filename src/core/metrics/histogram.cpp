#include "launch/core/metrics/histogram.hpp"

#include <algorithm>
#include <numeric>

namespace launch {

void Histogram::observe(Duration duration) {
  const double seconds = seconds_of(duration);
  ++count_;
  sum_ += seconds;
  const auto bound = std::lower_bound(bounds_.begin(), bounds_.end(), seconds);
  if (bound != bounds_.end()) ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
}

std::uint64_t Histogram::up_to(std::size_t bucket) const {
  const auto end = counts_.begin() + static_cast<std::ptrdiff_t>(bucket) + 1;
  return std::accumulate(counts_.begin(), end, std::uint64_t{0});
}

}  // namespace launch

#include "launch/core/base/backoff.hpp"

#include <algorithm>

namespace launch {

Duration Backoff::next() {
  const Duration delay = random_->between(nominal_ / 2, nominal_ * 3 / 2);
  nominal_ = std::min(nominal_ * 2, most_);
  return delay;
}

}  // namespace launch

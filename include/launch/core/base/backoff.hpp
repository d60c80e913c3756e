// Delays between retries: they grow, and have jitter so that a thousand nodes do not retry in step. Used to connect to
// a store again and again. It does not wait: the caller does, for as long as next() says. The generator must outlive
// it.
#pragma once

#include "launch/core/base/random.hpp"
#include "launch/core/base/time.hpp"

namespace launch {

class Backoff {
 public:
  // Delays start at `first` and double up to `most`, each between half and one and a half times its nominal value.
  Backoff(Duration first, Duration most, Random& random) : nominal_(first), most_(most), random_(&random) {}

  Duration next();

 private:
  Duration nominal_;
  Duration most_;
  Random* random_;
};

}  // namespace launch

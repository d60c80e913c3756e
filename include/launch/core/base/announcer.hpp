// Decides when a wait is worth another line to the user: a short wait says nothing, and a long one neither floods the
// console nor leaves the user alone. It writes nothing itself; whoever waits asks it, and writes. Times are of the
// monotonic clock.
#pragma once

#include "launch/core/base/time.hpp"

namespace launch {

class Announcer {
 public:
  explicit Announcer(Time start);

  // True a second after the start, and then each `interval`.
  bool due(Time now, Duration interval);
  // When it will be.
  Time next() const { return next_; }

 private:
  Time next_;
};

}  // namespace launch

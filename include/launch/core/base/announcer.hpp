// Decides when a wait deserves another progress line: a short wait prints nothing, and a long one neither floods the
// console nor leaves the user without news. It writes nothing itself; the code that waits asks it, and writes. Times
// are of the monotonic clock.
#pragma once

#include "launch/core/base/time.hpp"

namespace launch {

class Announcer {
 public:
  explicit Announcer(Time start);

  // True a second after the start, and then once per `interval`.
  bool due(Time now, Duration interval);
  // When due() will be true.
  Time next() const { return next_; }

 private:
  Time next_;
};

}  // namespace launch

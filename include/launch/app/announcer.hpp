// Decides when a wait is worth another line to the user.
#pragma once

#include "launch/core/base/time.hpp"

namespace launch {

class Announcer {
 public:
  explicit Announcer(Time start);

  // True a second after the start, and then each progress_interval().
  bool due();
  // When it will be.
  Time next() const { return next_; }

 private:
  Time next_;
};

}  // namespace launch

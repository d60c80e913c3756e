// Time as core sees it: points on one host's monotonic clock, passed in as values.
//
// Clock has no now(), so a decision that reads the time does not compile; io/clock.hpp tells the time.
#pragma once

#include <chrono>
#include <string>

namespace launch {

struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock, duration>;
  static constexpr bool is_steady = true;
};

using Duration = Clock::duration;
using Time = Clock::time_point;

inline constexpr Time never = Time::max();

// `d` after `t`, staying at `never` instead of overflowing.
Time later(Time t, Duration d);

// For people: "300 ms", "2.5 s", "15 s", "15 min".
std::string to_text(Duration d);

}  // namespace launch

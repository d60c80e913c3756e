// Time as core sees it: points on one host's monotonic clock, passed in as values.
//
// Clock has no now(), so a decision that reads the time does not compile; io/clock.hpp tells the time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

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

inline double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }
// Of a number that a Duration can hold; what is finer than it is dropped.
inline Duration of_seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// UTC by the clock of one host: written down for torchrun's agents, which compare it; our agents never compare it.
struct WallClock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WallClock, duration>;
  static constexpr bool is_steady = false;
};
using WallTime = WallClock::time_point;  // since 1970

// Seconds since 1970, as "date +%s" prints them; nullopt: it is something else, or beyond the year 2105, which Slurm
// means to be no time at all.
std::optional<WallTime> parse_wall_time(std::string_view text);

// A date and a time as people write them; local time if no zone is said.
struct CivilTime {
  int year = 0, month = 0, day = 0;
  int hour = 0, minute = 0, second = 0;
  std::optional<int> zone_minutes{};  // east of Greenwich
};

// The same moment on both clocks of this host.
struct Instant {
  Time time;
  WallTime wall;
};

// For people: "300 ms", "2.5 s", "15 s", "15 min".
std::string to_text(Duration d);

}  // namespace launch

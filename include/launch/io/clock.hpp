// The only place that reads a clock. core gets the time as a value, and so does other code that must be tested without
// waiting. Points in time are of the monotonic clock; the wall clock is for people and for torchrun's texts. Nothing
// here waits: io/deadline does.
#pragma once

#include "launch/core/base/time.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace launch {

// The monotonic clock of this host.
Time now();

// The clock by which the kernel's log dates its records, as near as it can be read.
Time kernel_log_time();

// Now on both clocks.
Instant instant();

// Seconds since 1970 by the wall clock, as in Python's time.time().
double unix_time();

// The local time, and when such a time is, in seconds since 1970, the earliest first: twice in the hour that comes
// again when summer time ends. The day before the first of a month may be given as 0.
CivilTime local_time();
std::vector<double> unix_times_of(const CivilTime& time);

// The same point for Asio's timers; `never` stays never.
std::chrono::steady_clock::time_point to_steady(Time time);

// Local wall-clock time for people: "2026-07-03 17:54:25".
std::string wall_time_text();
// The same to a thousandth of a second: "2026-07-03 17:54:25.123".
std::string log_time_text();

}  // namespace launch

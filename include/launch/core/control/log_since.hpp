// The moment of `launch-ctl logs --since`: how long ago it is, as the user said it or by the clock of the user's host.
// It goes to the nodes as an age in seconds, so their clocks do not matter. A bad word is an error of code usage that
// says what would be right. The clock is a value: nothing is read here.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"

#include <functional>
#include <string_view>
#include <variant>
#include <vector>

namespace launch {

// A duration in seconds, or a moment; one without a date has the year 0.
using LogSince = std::variant<double, CivilTime>;

// "90s", "10m", "2h", "1d", "1h30m", "90"; "14:05", "14:05:30", "2026-11-27", "2026-11-27T14:05+01:00".
Result<LogSince> parse_since(std::string_view text);

struct LocalClock {
  double now = 0;  // seconds since 1970
  CivilTime today{};
  // Since 1970, the earliest first: the hour that comes twice when summer time ends has two.
  std::function<std::vector<double>(const CivilTime&)> seconds_of;
};
// How many seconds ago that was: of several such moments, the last one before now. A moment that is still to come is an
// error of code usage.
Result<double> age_of(const LogSince& since, const LocalClock& clock);

}  // namespace launch

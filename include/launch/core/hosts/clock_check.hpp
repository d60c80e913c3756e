// How far the clocks of hosts are apart, from a question and its answer, as NTP does: both sides note when they sent
// and received. Used by core/hosts/doctor. Pure; times are microseconds since 1970 by the clock of whoever noted them.
// Half of the way there and back is the uncertainty. It corrects no clock.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/hosts/check_table.hpp"

#include <cstdint>
#include <vector>

namespace launch {

struct ClockReading {
  WallTime sent, received;   // here
  WallTime asked, answered;  // there
};

struct ClockOffset {
  int node = 0;
  Duration ahead{};  // of the clock here
  Duration uncertainty{};
};

ClockOffset measure_clock(int node, const ClockReading& reading);

constexpr Duration most_skew = std::chrono::seconds(1);

// A row for each host, and one for the machine on which launch was typed if it is that one's clock that is wrong. What
// most clocks say is taken for the time.
std::vector<CheckRow> check_clocks(const std::vector<ClockOffset>& clocks);

}  // namespace launch

#include "launch/core/hosts/clock_check.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

#include <fmt/format.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration small_skew = 100ms;
constexpr std::chrono::microseconds greatest_skew = 24h * 365 * 20;

// What a clock in the middle says, that of this machine being one of them. Of two, the one nearer to this machine's.
Duration middle_of(const std::vector<ClockOffset>& clocks) {
  std::vector<Duration> all{0s};
  for (const ClockOffset& clock : clocks) all.push_back(clock.ahead);
  std::sort(all.begin(), all.end());
  const Duration lower = all[(all.size() - 1) / 2];
  const Duration upper = all[all.size() / 2];
  return std::chrono::abs(lower) <= std::chrono::abs(upper) ? lower : upper;
}

CheckRow row_of(int node, Duration ahead, Duration uncertainty) {
  const Duration skew = std::chrono::abs(ahead);
  if (skew - uncertainty > most_skew)
    return {node, "clock", CheckLevel::warning,
            fmt::format("its clock is {} {} those of the others (is NTP running?)", to_text(skew),
                        ahead > 0s ? "ahead of" : "behind")};
  if (skew + uncertainty <= small_skew) return {node, "clock", CheckLevel::ok, "within 100 ms of the others"};
  if (skew + uncertainty <= most_skew) return {node, "clock", CheckLevel::ok, "within 1 s of the others"};
  return {node, "clock", CheckLevel::ok, fmt::format("within {} of the others", to_text(skew + uncertainty))};
}

}  // namespace

ClockOffset measure_clock(int node, const ClockReading& reading) {
  const auto there = reading.asked - reading.sent;
  const auto back = reading.answered - reading.received;
  const auto way = (reading.received - reading.sent) - (reading.answered - reading.asked);
  return {node, std::clamp((there + back) / 2, -greatest_skew, greatest_skew), std::max<Duration>(way / 2, 0s)};
}

std::vector<CheckRow> check_clocks(const std::vector<ClockOffset>& clocks) {
  std::vector<CheckRow> rows;
  rows.reserve(clocks.size() + 1);
  const Duration middle = middle_of(clocks);
  for (const ClockOffset& clock : clocks) rows.push_back(row_of(clock.node, clock.ahead - middle, clock.uncertainty));
  if (std::chrono::abs(middle) > most_skew) rows.push_back(row_of(-1, -middle, 0s));
  return rows;
}

}  // namespace launch

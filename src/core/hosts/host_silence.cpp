#include "launch/core/hosts/host_silence.hpp"

#include <algorithm>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration least_host_silence = 1s;
constexpr Duration longest_between_beats = 5s;
constexpr Duration time_to_read = 250ms;

}  // namespace

Duration host_silence(double heartbeat_timeout_s) {
  const bool is_shorter = heartbeat_timeout_s > 0 && heartbeat_timeout_s < seconds_of(longest_host_silence);
  return is_shorter ? std::max(least_host_silence, of_seconds(heartbeat_timeout_s)) : longest_host_silence;
}

Duration between_host_beats(Duration silence) { return std::min(longest_between_beats, silence / 3); }

bool has_slept(Time due, Time now, Duration silence) { return due < now && now - due >= silence / 4; }

Time end_of_silence(Time due, Time now, bool slept) { return slept ? later(now, time_to_read) : due; }

}  // namespace launch

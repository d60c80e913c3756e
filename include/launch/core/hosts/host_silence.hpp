// How long the connection of a host of `launch --hosts` may be silent until it counts as lost. The head
// (core/hosts/head) and the launch of the host (core/hosts/remote) both go by it, so that neither waits for the other.
// A pause of one's own is no silence of the other: what came meanwhile is read first. Pure.
#pragma once

#include "launch/core/base/time.hpp"

#include <chrono>

namespace launch {

constexpr Duration longest_host_silence = std::chrono::seconds(15);

// As long as nodes may be silent (zero, or what the nodes will refuse: no matter), within bounds.
Duration host_silence(double heartbeat_timeout_s);

// Until the next sign of life.
Duration between_host_beats(Duration silence);

// Of one that wanted to look at `due`.
bool has_slept(Time due, Time now, Duration silence);

// When a silence has ended that would have ended at `due`, for one that looks at `now`, after that.
Time end_of_silence(Time due, Time now, bool slept);

}  // namespace launch

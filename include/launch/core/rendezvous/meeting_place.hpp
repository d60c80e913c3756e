// Where the workers of a c10d round may meet if torchrun's agent leads the round: that agent writes the place in the
// first round that it leads, and keeps it. Used by session/worker_meeting, which finds out whether somebody listens at
// a place by connecting to it. Nothing here connects to anything.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/store/store_operation.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace launch {

// The rounds in which it may have been written: this one first, then the earlier ones, as far back as anybody looks.
std::vector<std::int64_t> rounds_to_look_in(std::int64_t round);

// The place that the two keys of a round hold.
Result<Endpoint> parse_meeting_place(const std::string& host, const std::string& port);

// Turns what was found, newest round first, into places to try, each once: first what is written in this round, then
// the addresses of the leader's host that are written in other rounds. A text that is not an address is left out.
struct SaidPlace {
  std::int64_t round = 0;
  std::string host, port;
};
std::vector<Endpoint> places_to_try(const std::vector<SaidPlace>& said, std::int64_t round,
                                    const std::string& leader_host);

}  // namespace launch

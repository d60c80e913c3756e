// Where the workers of a c10d round may meet whose leader is torchrun's agent: it says so in the first round that it
// leads, and keeps to it. Asked by session/worker_meeting, which proves a place by connecting to it. It connects to
// nothing: whether somebody listens there is found out by worker_meeting.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/job/endpoint.hpp"
#include "launch/core/store/store_operation.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace launch {

// The rounds in which it may have been said: this one first, then back from it, as far as anybody looks.
std::vector<std::int64_t> rounds_to_look_in(std::int64_t round);

// What the two keys of a round hold.
Result<Endpoint> parse_meeting_place(const std::string& host, const std::string& port);

// What was found, newest round first, as places to try, each once: what is said in this round, then what is said of the
// leader's host in others. A text that is no address is none.
struct SaidPlace {
  std::int64_t round = 0;
  std::string host, port;
};
std::vector<Endpoint> places_to_try(const std::vector<SaidPlace>& said, std::int64_t round,
                                    const std::string& leader_host);

}  // namespace launch

#include "launch/core/rendezvous/meeting_place.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::int64_t most_rounds_back = 1000;

}  // namespace

std::vector<std::int64_t> rounds_to_look_in(std::int64_t round) {
  std::vector<std::int64_t> rounds;
  for (std::int64_t at = round; at >= std::max<std::int64_t>(0, round - most_rounds_back); --at) rounds.push_back(at);
  return rounds;
}

Result<Endpoint> parse_meeting_place(const std::string& host, const std::string& port) {
  const auto number = parse_int(port);
  if (host.empty() || !number || *number < 1 || *number > 65'535)
    return protocol_error(
        fmt::format("the node of rank 0 names {}:{} as the place where workers meet, which is not an address",
                    shown(host), shown(port)));
  return Endpoint{host, static_cast<std::uint16_t>(*number)};
}

std::vector<Endpoint> places_to_try(const std::vector<SaidPlace>& said, std::int64_t round,
                                    const std::string& leader_host) {
  std::vector<Endpoint> places;
  for (const SaidPlace& one : said) {
    const auto place = parse_meeting_place(one.host, one.port);
    if (!place || (one.round != round && one.host != leader_host)) continue;
    if (std::find(places.begin(), places.end(), *place) == places.end()) places.push_back(*place);
  }
  return places;
}

}  // namespace launch

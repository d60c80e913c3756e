#include "launch/core/job/endpoint_list.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace launch {
namespace {

Error bad_list(std::string message) { return {ErrorCode::usage, std::move(message)}; }

// Names of hosts are the same in capital and small letters.
bool is_same_place(const Endpoint& one, const Endpoint& other) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  const auto same = [&](char a, char b) { return small(a) == small(b); };
  return one.port == other.port &&
         std::equal(one.host.begin(), one.host.end(), other.host.begin(), other.host.end(), same);
}

Status check_ports(const std::vector<EndpointText>& hosts) {
  const auto has_port = [](const EndpointText& host) { return host.port.has_value(); };
  const auto with_port = std::count_if(hosts.begin(), hosts.end(), has_port);
  const bool all = with_port == static_cast<std::ptrdiff_t>(hosts.size());
  if (with_port > 0 && !all && (with_port > 1 || !hosts.back().port))
    return bad_list(
        "some hosts have a port and others have none; give each its own, or only the last one the port of all");
  if (std::any_of(hosts.begin(), hosts.end(), [](const EndpointText& host) { return host.port == 0; }))
    return bad_list("port 0 (any free one) is for one node; give a port from 1 to 65535");
  return {};
}

}  // namespace

bool is_endpoint_list(std::string_view text) { return text.find(',') != std::string_view::npos; }

Result<std::vector<Endpoint>> parse_endpoint_list(std::string_view text, std::uint16_t default_port) {
  std::vector<EndpointText> hosts;
  for (const std::string_view part : split(text, ',')) {
    if (trim(part).empty()) return bad_list("a host is missing beside a ','; write HOST,HOST:PORT");
    auto host = parse_endpoint(part);
    if (!host) return bad_list(fmt::format("{}: {}", shown(trim(part)), host.error().message));
    hosts.push_back(*std::move(host));
  }
  if (hosts.size() > most_endpoints)
    return bad_list(fmt::format("{} hosts are too many; name {} at most, the other nodes find the job there",
                                hosts.size(), most_endpoints));
  if (Status fits = check_ports(hosts); !fits) return fits.error();
  std::vector<Endpoint> places;
  for (const EndpointText& host : hosts) {
    const Endpoint place{host.host, host.port.value_or(hosts.back().port.value_or(default_port))};
    const auto same = [&](const Endpoint& other) { return is_same_place(place, other); };
    if (std::any_of(places.begin(), places.end(), same))
      return bad_list(fmt::format("{} is there twice; name each host once", to_text(place)));
    places.push_back(place);
  }
  return places;
}

std::string to_text(const std::vector<Endpoint>& endpoints) {
  std::string text;
  for (const Endpoint& endpoint : endpoints) text += (text.empty() ? "" : ", ") + to_text(endpoint);
  return text;
}

}  // namespace launch

// Where rank 0 can be reached, as it tells the others through the starter's own server, and which of its names and
// addresses another host takes. Used by the talks with such servers (pmi_talk, io/pmix_exchange). What comes from
// outside is bounded and checked; nothing of it is trusted. Pure; no name is looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

struct Reach {
  std::string hostname;
  std::vector<std::string> addresses;  // of its interfaces, without the loopback
  std::uint16_t port = 0;

  bool operator==(const Reach&) const = default;
};

// The name under which rank 0 keeps it in the server.
constexpr const char* reach_key = "launch.0";

// "61003/n1/10.0.0.1,10.1.0.1": as many addresses as fit.
std::string to_text(const Reach& reach);
std::optional<Reach> parse_reach(std::string_view text);

// What another host knows of it.
struct OwnNetworks {
  std::vector<std::string> addresses;      // of this host
  std::vector<std::string> name_leads_to;  // what the name of rank 0 is resolved to here
  std::vector<std::string> near;           // which of rank 0's addresses are in a network of this host
};

// Its name, if that leads to one of its addresses here; else an address in one of the networks of this host; else the
// first that this host does not have itself.
std::string choose_host(const Reach& reach, const OwnNetworks& own);

}  // namespace launch

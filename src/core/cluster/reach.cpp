#include "launch/core/cluster/reach.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t most_addresses = 16;
constexpr std::size_t longest_value = 900;  // servers take 1,024

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

std::string to_text(const Reach& reach) {
  std::string text = fmt::format("{}/{}/", reach.port, reach.hostname);
  for (std::size_t i = 0; i < std::min(reach.addresses.size(), most_addresses); ++i)
    if (text.size() + reach.addresses[i].size() < longest_value) text += (i == 0 ? "" : ",") + reach.addresses[i];
  return text;
}

std::optional<Reach> parse_reach(std::string_view text) {
  const auto parts = split(text, '/');
  if (parts.size() != 3 || text.size() > 1024) return std::nullopt;
  const auto port = parse_int(parts[0]);
  if (!port || *port < 1 || *port > 65'535 || parts[1].empty()) return std::nullopt;
  Reach reach{std::string(parts[1]), {}, static_cast<std::uint16_t>(*port)};
  for (const std::string_view address : split(parts[2], ','))
    if (!address.empty() && reach.addresses.size() < most_addresses) reach.addresses.emplace_back(address);
  return reach;
}

std::string choose_host(const Reach& reach, const OwnNetworks& own) {
  const auto is_its = [&](const std::string& address) { return contains(reach.addresses, address); };
  if (std::any_of(own.name_leads_to.begin(), own.name_leads_to.end(), is_its)) return reach.hostname;
  const auto is_own = [&](const std::string& address) { return contains(own.addresses, address); };
  const auto is_better = [&](const std::string& address) { return !is_own(address) && contains(own.near, address); };
  if (const auto it = std::find_if(reach.addresses.begin(), reach.addresses.end(), is_better);
      it != reach.addresses.end())
    return *it;
  if (const auto it = std::find_if_not(reach.addresses.begin(), reach.addresses.end(), is_own);
      it != reach.addresses.end())
    return *it;
  return reach.addresses.empty() ? reach.hostname : reach.addresses.front();
}

}  // namespace launch

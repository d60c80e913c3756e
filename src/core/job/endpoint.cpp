#include "launch/core/job/endpoint.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

namespace launch {
namespace {

using Bytes4 = std::array<std::uint8_t, 4>;
using Bytes16 = std::array<std::uint8_t, 16>;

constexpr auto npos = std::string_view::npos;

Error fault(std::string message) { return {ErrorCode::usage, std::move(message)}; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name_char(char c) { return is_digit(c) || is_letter(c) || c == '.' || c == '-' || c == '_'; }

// Only digits of the base: from_chars alone would accept a minus sign.
template <class T>
std::optional<T> parse_unsigned(std::string_view text, int base, std::size_t max_digits) {
  T value{};
  if (text.empty() || text.size() > max_digits || text[0] == '-') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Bytes4> parse_ipv4(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  Bytes4 bytes{};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto byte = parse_unsigned<std::uint8_t>(parts[i], 10, 3);
    if (!byte) return std::nullopt;
    bytes[i] = *byte;
  }
  return bytes;
}

// The groups on one side of "::", two bytes each; the very last may be an IPv4 address.
std::optional<std::vector<std::uint8_t>> parse_groups(std::string_view text, bool may_end_in_ipv4) {
  std::vector<std::uint8_t> bytes;
  if (text.empty()) return bytes;
  const auto parts = split(text, ':');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (may_end_in_ipv4 && i + 1 == parts.size()) {
      if (const auto ipv4 = parse_ipv4(parts[i])) {
        bytes.insert(bytes.end(), ipv4->begin(), ipv4->end());
        continue;
      }
    }
    const auto group = parse_unsigned<std::uint16_t>(parts[i], 16, 4);
    if (!group) return std::nullopt;
    bytes.push_back(static_cast<std::uint8_t>(*group >> 8U));
    bytes.push_back(static_cast<std::uint8_t>(*group & 0xffU));
  }
  return bytes;
}

std::optional<Bytes16> parse_ipv6(std::string_view text) {
  const auto gap = text.find("::");
  const auto head = parse_groups(text.substr(0, gap), gap == npos);
  const auto tail = gap == npos ? std::vector<std::uint8_t>{} : parse_groups(text.substr(gap + 2), true);
  if (!head || !tail) return std::nullopt;
  const std::size_t given = head->size() + tail->size();
  if (gap == npos ? given != 16 : given > 14) return std::nullopt;
  Bytes16 bytes{};
  std::copy(head->begin(), head->end(), bytes.begin());
  std::copy_backward(tail->begin(), tail->end(), bytes.end());
  return bytes;
}

// An address may carry a zone, "fe80::1%eth0"; without one a link-local address leads nowhere.
bool is_ipv6(std::string_view text) {
  const auto percent = text.find('%');
  if (!parse_ipv6(text.substr(0, percent))) return false;
  if (percent == npos) return true;
  const std::string_view zone = text.substr(percent + 1);
  return !zone.empty() && std::all_of(zone.begin(), zone.end(), is_name_char);
}

Result<EndpointText> with_port(std::string_view host, std::string_view port_text) {
  const auto port = parse_port(port_text);
  if (!port) return port.error();
  return EndpointText{std::string(host), *port};
}

Result<EndpointText> parse_bracketed(std::string_view text) {
  const auto close = text.find(']');
  if (close == npos) return fault("the ']' after the IPv6 address is missing");
  const std::string_view host = text.substr(1, close - 1);
  if (!is_ipv6(host)) return fault(fmt::format("{} in brackets is not an IPv6 address", shown(host)));
  const std::string_view rest = text.substr(close + 1);
  if (rest.empty()) return EndpointText{std::string(host), std::nullopt};
  if (rest[0] != ':') return fault("only :PORT may follow the ']'");
  return with_port(host, rest.substr(1));
}

}  // namespace

Result<EndpointText> parse_endpoint(std::string_view text) {
  text = trim(text);
  if (text.empty()) return fault("the host is missing; write HOST or HOST:PORT");
  if (text[0] == '[') return parse_bracketed(text);
  if (is_ipv6(text)) return EndpointText{std::string(text), std::nullopt};
  const auto colon = text.find(':');
  const std::string_view host = text.substr(0, colon);
  if (host.empty()) return fault("the host before the ':' is missing; write HOST:PORT");
  if (!std::all_of(host.begin(), host.end(), is_name_char)) {
    return fault("a host name consists of letters, digits, '.', '-' and '_'");
  }
  if (colon == npos) return EndpointText{std::string(host), std::nullopt};
  if (text.find(':', colon + 1) != npos) {
    return fault("more than one ':'; write HOST:PORT, and an IPv6 address with a port as [ADDRESS]:PORT");
  }
  return with_port(host, text.substr(colon + 1));
}

Result<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty()) return fault("the port after the ':' is missing");
  const auto port = parse_unsigned<std::uint16_t>(text, 10, 5);
  if (!port) return fault(fmt::format("the port {} is not a number from 1 to 65535", shown(text)));
  return *port;
}

std::string to_text(const Endpoint& endpoint) {
  if (endpoint.kind == StoreKind::file) return endpoint.host;
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", endpoint.host, brackets ? "]" : "", endpoint.port);
}

bool is_ip_address(std::string_view text) { return parse_ipv4(text) || is_ipv6(text); }

bool is_loopback(std::string_view host) {
  constexpr std::string_view localhost = "localhost";
  const auto same_letter = [](char a, char b) { return (is_letter(a) ? static_cast<char>(a | 0x20) : a) == b; };
  if (std::equal(host.begin(), host.end(), localhost.begin(), localhost.end(), same_letter)) return true;
  if (const auto ipv4 = parse_ipv4(host)) return (*ipv4)[0] == 127;
  const auto ipv6 = parse_ipv6(host);
  if (!ipv6) return false;
  constexpr Bytes16 one{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  constexpr std::array<std::uint8_t, 13> mapped_127{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  return *ipv6 == one || std::equal(mapped_127.begin(), mapped_127.end(), ipv6->begin());
}

}  // namespace launch

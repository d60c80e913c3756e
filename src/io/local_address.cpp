#include "launch/io/local_address.hpp"

#include "launch/core/job/endpoint.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"

#include <algorithm>
#include <set>

#include <ifaddrs.h>
#include <netinet/in.h>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration look_up_time = 5s;

asio::ip::address to_address(const sockaddr& raw) {
  if (raw.sa_family == AF_INET)
    return asio::ip::address_v4(ntohl(reinterpret_cast<const sockaddr_in&>(raw).sin_addr.s_addr));
  asio::ip::address_v6::bytes_type bytes;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(raw).sin6_addr;
  std::copy(std::begin(v6.s6_addr), std::end(v6.s6_addr), bytes.begin());
  return asio::ip::address_v6(bytes);
}

std::set<asio::ip::address> own_addresses() {
  std::set<asio::ip::address> result;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return result;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next)
    if (at->ifa_addr != nullptr && (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6))
      result.insert(to_address(*at->ifa_addr));
  ::freeifaddrs(first);
  return result;
}

// Without the zone of a link-local address.
asio::ip::address plain(const asio::ip::address& address) {
  return address.is_v6() ? asio::ip::address_v6(address.to_v6().to_bytes()) : address;
}

}  // namespace

asio::awaitable<Whereabouts> find_host(std::string host, std::string own_name, Time deadline) {
  Whereabouts result;
  if (is_loopback(host) || host == own_name) {
    result.here = true;
    co_return result;
  }
  const Endpoint endpoint{host, 0};
  const auto addresses = co_await resolve(endpoint, std::min(deadline, later(now(), look_up_time)));
  if (!addresses) co_return result;
  const std::set<asio::ip::address> own = own_addresses();
  for (const auto& found : *addresses) (own.contains(plain(found.address())) ? result.here : result.elsewhere) = true;
  co_return result;
}

}  // namespace launch

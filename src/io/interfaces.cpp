#include "launch/io/interfaces.hpp"

#include "launch/io/fd.hpp"

#include <cstring>

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <boost/asio/ip/tcp.hpp>

namespace launch {
namespace asio = boost::asio;

namespace {

std::optional<asio::ip::address> address_of(const sockaddr* raw) {
  if (raw == nullptr || (raw->sa_family != AF_INET && raw->sa_family != AF_INET6)) return std::nullopt;
  asio::ip::tcp::endpoint endpoint;
  std::memcpy(endpoint.data(), raw, raw->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  return endpoint.address();
}

// The kernel is asked by name: /sys may be that of another network namespace.
int mtu_of(int socket, const char* interface) {
  ifreq question{};
  std::strncpy(question.ifr_name, interface, sizeof question.ifr_name - 1);
  return ::ioctl(socket, SIOCGIFMTU, &question) == 0 ? question.ifr_mtu : 0;
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  std::vector<InterfaceAddress> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next)
    if (const auto address = address_of(at->ifa_addr))
      all.push_back({at->ifa_name, *address, address_of(at->ifa_netmask), (at->ifa_flags & IFF_UP) != 0,
                     (at->ifa_flags & IFF_LOOPBACK) != 0, mtu_of(socket.get(), at->ifa_name)});
  ::freeifaddrs(first);
  return all;
}

bool is_link_local(const asio::ip::address& address) { return address.is_v6() && address.to_v6().is_link_local(); }

}  // namespace launch

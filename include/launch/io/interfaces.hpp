// The addresses of this host's network interfaces, as the kernel lists them: the one place that walks them. Used where
// others are told how to reach this host (own_reach, remote_place), and where it matters if an address is this host's
// (local_address); which of them count is decided there. Nothing is looked up, and no packet is sent.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <optional>
#include <string>
#include <vector>

namespace launch {

struct InterfaceAddress {
  std::string interface;
  boost::asio::ip::address address;  // IPv4 or IPv6
  std::optional<boost::asio::ip::address> mask;
  bool up = false;
  bool loopback = false;  // the interface is one, whatever address it has
  int mtu = 0;            // 0: not known
};

// None if the kernel does not tell.
std::vector<InterfaceAddress> interface_addresses();

bool is_link_local(const boost::asio::ip::address& address);

}  // namespace launch

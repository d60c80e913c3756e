#include "launch/io/own_reach.hpp"

#include "launch/core/cluster/start_values.hpp"
#include "launch/io/interfaces.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <vector>

#include <unistd.h>

namespace launch {
namespace asio = boost::asio;
namespace {

using Address = asio::ip::address;

// Whether the first bits of both are equal as far as the mask has ones.
template <class Bytes>
bool agree(const Bytes& one, const Bytes& other, const Bytes& mask) {
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (((one[i] ^ other[i]) & mask[i]) != 0) return false;
  return true;
}

bool in_network(const Address& address, const Address& own, const Address& mask) {
  if (address.is_v4() != own.is_v4() || mask.is_v4() != own.is_v4()) return false;
  if (own.is_v4()) return agree(address.to_v4().to_bytes(), own.to_v4().to_bytes(), mask.to_v4().to_bytes());
  return agree(address.to_v6().to_bytes(), own.to_v6().to_bytes(), mask.to_v6().to_bytes());
}

// Those that other hosts may reach: none of the loopback, and none that needs the name of an interface.
std::vector<InterfaceAddress> interfaces() {
  std::vector<InterfaceAddress> all = interface_addresses();
  std::erase_if(all, [](const InterfaceAddress& one) {
    return !one.up || !one.mask || one.address.is_loopback() || is_link_local(one.address);
  });
  return all;
}

// What the name leads to on this host; nothing if it is not known.
std::vector<std::string> look_up(const std::string& name) {
  asio::io_context context(1);
  asio::ip::tcp::resolver resolver(context);
  boost::system::error_code error;
  std::vector<std::string> addresses;
  for (const auto& found : resolver.resolve(name, "", error))
    addresses.push_back(found.endpoint().address().to_string());
  return addresses;
}

OwnNetworks networks_for(const Reach& reach) {
  OwnNetworks own;
  const auto all = interfaces();
  for (const InterfaceAddress& one : all) own.addresses.push_back(one.address.to_string());
  own.name_leads_to = look_up(reach.hostname);
  for (const std::string& text : reach.addresses) {
    boost::system::error_code error;
    const Address address = asio::ip::make_address(text, error);
    const auto is_near = [&](const InterfaceAddress& one) { return in_network(address, one.address, *one.mask); };
    if (!error && std::any_of(all.begin(), all.end(), is_near)) own.near.push_back(text);
  }
  return own;
}

bool is_free(std::uint16_t port) {
  asio::io_context context(1);
  asio::ip::tcp::acceptor acceptor(context);
  boost::system::error_code error;
  acceptor.open(asio::ip::tcp::v4(), error);
  if (!error) acceptor.bind({asio::ip::tcp::v4(), port}, error);
  return !error;
}

std::uint16_t a_free_port() {
  const auto begin =
      static_cast<std::uint16_t>(::getpid() * 31 % own_port_count);  // several launches of a host begin apart
  for (std::uint16_t i = 0; i < own_port_count; ++i) {
    const auto port = static_cast<std::uint16_t>(first_own_port + (begin + i) % own_port_count);
    if (is_free(port)) return port;
  }
  return first_own_port;  // that it is busy will be said when it is listened on
}

}  // namespace

Reach own_reach(const std::string& hostname, std::uint16_t port) {
  Reach reach{hostname, {}, port == 0 ? a_free_port() : port};
  for (const InterfaceAddress& one : interfaces()) reach.addresses.push_back(one.address.to_string());
  return reach;
}

std::string host_for(const Reach& reach) { return choose_host(reach, networks_for(reach)); }

}  // namespace launch

#include "launch/io/local_address.hpp"

#include "launch/core/job/endpoint.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/connect.hpp"
#include "launch/io/interfaces.hpp"

#include <algorithm>
#include <set>

namespace launch {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Duration look_up_time = 5s;

// Without the zone of a link-local address.
asio::ip::address plain(const asio::ip::address& address) {
  return address.is_v6() ? asio::ip::address_v6(address.to_v6().to_bytes()) : address;
}

std::set<asio::ip::address> all_own() {
  std::set<asio::ip::address> result;
  for (const InterfaceAddress& one : interface_addresses()) result.insert(plain(one.address));
  return result;
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
  const std::set<asio::ip::address> own = all_own();
  for (const auto& found : *addresses) (own.contains(plain(found.address())) ? result.here : result.elsewhere) = true;
  co_return result;
}

}  // namespace launch

// A TCP connection by a deadline: the name looked up where it is one, all its addresses tried, nothing repeated. Used
// by store_client and by whoever looks for an address. Deadlines are points of the monotonic clock; the error is the
// system's words for the last address that was tried.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/job/endpoint.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <vector>

namespace launch {

// Addresses of a host. An address as text is taken as it is and asks nobody. A look-up that is still under way at the
// deadline is left behind: the system's resolver cannot be interrupted.
boost::asio::awaitable<Result<std::vector<boost::asio::ip::tcp::endpoint>>> resolve(Endpoint endpoint, Time deadline);

// TCP_NODELAY, and keep-alive probes: a host that vanished without a word is noticed within a minute and a half.
void tune(boost::asio::ip::tcp::socket& socket);

// The same within this time, to about a second: where the other side's kernel no longer answers, the connection ends.
void expect_life(boost::asio::ip::tcp::socket& socket, Duration within);

// The first address that answers, tuned. The error holds the system's words for the last address tried.
boost::asio::awaitable<Result<boost::asio::ip::tcp::socket>> connect(Endpoint endpoint, Time deadline);

// The socket is connected to itself: so TCP does where it tries a port of this machine on which nobody listens, and the
// kernel takes that very port for this side. Such a connection would keep the port from the one who is to listen on it.
bool is_own_peer(const boost::asio::ip::tcp::socket& socket);

// A port of this machine that nobody listens on at the moment; 0 when there is none.
std::uint16_t free_port();

}  // namespace launch

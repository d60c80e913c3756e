// Makes a TCP connection by a deadline: looks the host up if it is a name, and tries each of its addresses once. Used
// by store_client, and by code that looks for an address. Deadlines are points of the monotonic clock. The error is the
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

// The addresses of a host. A host that is an address as text is not looked up. A look-up that is still under way at the
// deadline is left behind, because the system's resolver cannot be interrupted.
boost::asio::awaitable<Result<std::vector<boost::asio::ip::tcp::endpoint>>> resolve(Endpoint endpoint, Time deadline);

// Sets TCP_NODELAY and keep-alive probes: a host that vanished silently is noticed within a minute and a half.
void tune(boost::asio::ip::tcp::socket& socket);

// The same within this time, to about a second: if the other side's kernel no longer answers, the connection ends.
// Zero: not for a day, as long as nothing is sent.
void expect_life(boost::asio::ip::tcp::socket& socket, Duration within);

// Connects to the first address that answers, and tunes the socket. The error has the system's words for the last one.
boost::asio::awaitable<Result<boost::asio::ip::tcp::socket>> connect(Endpoint endpoint, Time deadline);

// True if the socket is connected to itself. That happens when TCP tries a port of this machine on which nobody
// listens, and the kernel takes the same port for this side. Such a connection would keep the port from the process
// that must listen on it.
bool is_own_peer(const boost::asio::ip::tcp::socket& socket);

// A port of this machine that nobody listens on at the moment; 0 when there is none.
std::uint16_t free_port();

}  // namespace launch

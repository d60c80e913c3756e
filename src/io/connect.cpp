#include "launch/io/connect.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/deadline.hpp"
#include "launch/io/thread_error.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace launch {
namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

// One address of several must not use up the whole deadline: its packets may vanish.
constexpr Duration longest_attempt = 10s;

// Shared between the waiting coroutine and the resolver's handler, whichever lives longer.
struct Lookup {
  explicit Lookup(const asio::any_io_executor& executor) : resolver(executor), ended(executor) {}
  tcp::resolver resolver;
  asio::steady_timer ended;
  bool done = false;
  boost::system::error_code error;
  std::vector<tcp::endpoint> addresses;
};

void start(const std::shared_ptr<Lookup>& lookup, const Endpoint& endpoint) {
  lookup->resolver.async_resolve(
      endpoint.host, std::to_string(endpoint.port), tcp::resolver::numeric_service,
      [lookup](const boost::system::error_code& error, const tcp::resolver::results_type& results) {
        lookup->done = true;
        lookup->error = error;
        for (const auto& entry : results) lookup->addresses.push_back(entry.endpoint());
        lookup->ended.cancel();
      });
}

// This machine's own name is known even where nothing else is, as in a container without /etc/hosts (RFC 6761).
Result<std::vector<tcp::endpoint>> without_lookup(const Endpoint& endpoint, const std::string& reason) {
  if (endpoint.host == "localhost")
    return std::vector<tcp::endpoint>{{asio::ip::address_v4::loopback(), endpoint.port},
                                      {asio::ip::address_v6::loopback(), endpoint.port}};
  return Error{ErrorCode::timeout, fmt::format("the name {} cannot be resolved: {}", endpoint.host, reason)};
}

asio::awaitable<boost::system::error_code> connect_one(tcp::socket& socket, tcp::endpoint address, Time when) {
  const Deadline deadline(socket, when);
  auto [error] = co_await socket.async_connect(address, as_values);
  if (error && deadline.passed()) co_return asio::error::timed_out;
  if (!error && is_own_peer(socket)) {
    boost::system::error_code ignored;
    socket.set_option(tcp::socket::linger(true, 0), ignored);  // otherwise the port would be taken for another minute
    socket.close(ignored);
    co_return asio::error::connection_refused;
  }
  co_return error;
}

}  // namespace

asio::awaitable<Result<std::vector<tcp::endpoint>>> resolve(Endpoint endpoint, Time deadline) {
  boost::system::error_code not_an_address;
  const auto address = asio::ip::make_address(endpoint.host, not_an_address);
  if (!not_an_address) co_return std::vector<tcp::endpoint>(1, tcp::endpoint(address, endpoint.port));
  const auto executor = co_await asio::this_coro::executor;
  auto lookup = std::make_shared<Lookup>(executor);
  lookup->ended.expires_at(to_steady(deadline));
  std::error_code refused;
  try {
    start(lookup, endpoint);
  } catch (const boost::system::system_error& error) {
    refused = error.code();
  }
  if (refused) co_return without_lookup(endpoint, thread_refused("it", refused).message);
  (void)co_await lookup->ended.async_wait(as_values);
  if (!lookup->done) {
    lookup->resolver.cancel();  // others wait behind it
    co_return without_lookup(endpoint, "the name server does not answer");
  }
  if (lookup->error) co_return without_lookup(endpoint, lookup->error.message());
  co_return lookup->addresses;
}

bool is_own_peer(const tcp::socket& socket) {
  boost::system::error_code error;
  const tcp::endpoint own = socket.local_endpoint(error);
  return !error && own == socket.remote_endpoint(error) && !error;
}

std::uint16_t free_port() {
  asio::io_context context;
  tcp::socket socket(context);
  boost::system::error_code error;
  socket.open(tcp::v4(), error);
  if (!error) socket.bind(tcp::endpoint(tcp::v4(), 0), error);
  return error ? std::uint16_t{0} : socket.local_endpoint(error).port();
}

void tune(tcp::socket& socket) {
  using asio::detail::socket_option::integer;
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(tcp::socket::keep_alive(true), ignored);
  socket.set_option(integer<IPPROTO_TCP, TCP_KEEPIDLE>(60), ignored);  // seconds
  socket.set_option(integer<IPPROTO_TCP, TCP_KEEPINTVL>(10), ignored);
  socket.set_option(integer<IPPROTO_TCP, TCP_KEEPCNT>(3), ignored);
}

void expect_life(tcp::socket& socket, Duration within) {
  using asio::detail::socket_option::integer;
  using namespace std::chrono;
  boost::system::error_code ignored;
  if (within == Duration::zero()) {
    socket.set_option(integer<IPPROTO_TCP, TCP_KEEPINTVL>(600), ignored);  // a machine that is there again resets it
    socket.set_option(integer<IPPROTO_TCP, TCP_KEEPCNT>(127), ignored);
    return;
  }
  const int probe = std::max(1, static_cast<int>(duration_cast<seconds>(within / 4).count()));
  socket.set_option(integer<IPPROTO_TCP, TCP_KEEPIDLE>(probe), ignored);
  socket.set_option(integer<IPPROTO_TCP, TCP_KEEPINTVL>(probe), ignored);
  const auto limit = static_cast<int>(duration_cast<milliseconds>(within).count());
  socket.set_option(integer<IPPROTO_TCP, TCP_USER_TIMEOUT>(limit), ignored);
}

asio::awaitable<Result<tcp::socket>> connect(Endpoint endpoint, Time deadline) {
  const auto executor = co_await asio::this_coro::executor;
  auto addresses = co_await resolve(endpoint, deadline);
  if (!addresses) co_return addresses.error();
  std::string reason = "it has no address";
  bool refused = true;  // by all addresses
  const std::string which = addresses->size() > 1 ? fmt::format(" at any of its {} addresses", addresses->size()) : "";
  for (const tcp::endpoint& address : *addresses) {
    tcp::socket socket(executor);
    const Time until = std::min(deadline, later(now(), longest_attempt));
    const auto error = co_await connect_one(socket, address, until);
    if (!error) {
      tune(socket);
      co_return socket;
    }
    reason = error.message();
    refused = refused && error == asio::error::connection_refused;
  }
  refused = refused && !addresses->empty();
  co_return Error{refused ? ErrorCode::no_listener : ErrorCode::closed,
                  fmt::format("cannot reach {}{}: {}", to_text(endpoint), which, reason)};
}

}  // namespace launch

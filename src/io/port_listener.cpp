#include "launch/io/port_listener.hpp"

#include "launch/io/port_holder.hpp"

#include <utility>

#include <fmt/format.h>
#include <boost/asio/ip/v6_only.hpp>

namespace launch {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto pause_after_accept_error = std::chrono::milliseconds(100);
// That wait to be accepted. All nodes of a job may come at once, and SOMAXCONN of musl is 128; the system's own limit
// is net.core.somaxconn.
constexpr int most_unaccepted = 65535;

}  // namespace

PortListener::PortListener(asio::any_io_executor executor, std::function<void(tcp::socket)> on_connection)
    : executor_(std::move(executor)), on_connection_(std::move(on_connection)) {}

error_code PortListener::open(const tcp::endpoint& address) {
  auto door = std::make_unique<Door>(executor_);
  tcp::acceptor* const acceptor = &door->acceptor;
  error_code error;
  acceptor->open(address.protocol(), error);
  if (error) return error;
  acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  const bool wildcard = address.address().is_unspecified();
  if (address.address().is_v6()) acceptor->set_option(asio::ip::v6_only(!wildcard), error);
  if (!error) acceptor->bind(address, error);
  if (!error) acceptor->listen(most_unaccepted, error);
  if (error) return error;
  port_ = acceptor->local_endpoint(error).port();
  doors_.push_back(std::move(door));
  accept(*doors_.back());
  return error;
}

error_code PortListener::try_to_listen(const std::string& host, std::uint16_t port, bool loopback_only) {
  error_code error;
  if (loopback_only) {
    error_code not_an_address;
    const auto address = asio::ip::make_address(host, not_an_address);
    error = open(tcp::endpoint(not_an_address ? asio::ip::address_v4::loopback() : address, port));
    // A name such as localhost may lead to either family. It is no error if the machine has no IPv6.
    if (!error && not_an_address) (void)open(tcp::endpoint(asio::ip::address_v6::loopback(), port_));
  } else {
    error = open(tcp::endpoint(tcp::v6(), port));
    if (error && error != asio::error::address_in_use) error = open(tcp::endpoint(tcp::v4(), port));
  }
  return error;
}

Status PortListener::listen(const std::string& host, std::uint16_t port, bool loopback_only) {
  const error_code error = try_to_listen(host, port, loopback_only);
  if (!error) return {};
  std::string holder = error == asio::error::address_in_use ? find_port_holder(port) : std::string();
  if (holder.empty() && is_port_cooling(port)) holder = "a closed connection, for up to a minute";
  return Error{ErrorCode::system, fmt::format("cannot listen on port {}: {}{}; choose another one for --master-port, "
                                              "or in --rdzv-endpoint if that is given",
                                              port, error.message(), holder.empty() ? "" : ", held by " + holder)};
}

void PortListener::accept(Door& door) {
  auto accepted = [this, &door, alive = std::weak_ptr(alive_)](const error_code& error, tcp::socket socket) {
    if (alive.expired() || error == asio::error::operation_aborted) return;
    if (error) return accept_later(door);
    on_connection_(std::move(socket));
    accept(door);
  };
  door.acceptor.async_accept(executor_, std::move(accepted));
}

// Descriptors or memory have run out. Connected peers are still served, and closing some of them makes room.
void PortListener::accept_later(Door& door) {
  door.pause.expires_after(pause_after_accept_error);
  door.pause.async_wait([this, &door, alive = std::weak_ptr(alive_)](const error_code&) {
    if (!alive.expired()) accept(door);
  });
}

void PortListener::accept_pending() {
  for (const auto& door : doors_) {
    error_code error;
    door->acceptor.non_blocking(true, error);
    while (!error) {
      tcp::socket socket = door->acceptor.accept(executor_, error);
      if (!error) on_connection_(std::move(socket));
    }
  }
}

}  // namespace launch

// Accepts connections on one port: on every interface, with IPv6 and IPv4 in one socket, or on the loopback alone.
//
// io/store_server uses it. It never gives up: without descriptors or memory it pauses and tries again, because
// connected peers are still served, and closing some of them makes room. What `on_connection` refers to must outlive
// this object.
#pragma once

#include "launch/core/base/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace launch {

class PortListener {
 public:
  PortListener(boost::asio::any_io_executor executor, std::function<void(boost::asio::ip::tcp::socket)> on_connection);

  // With `loopback_only`, listens on the loopback address that `host` names. Port 0 takes a free one. The error for a
  // busy port names its holder if the system tells.
  Status listen(const std::string& host, std::uint16_t port, bool loopback_only);
  // For a caller that does not need the reason of a failure: finding it out reads about every process of the machine.
  boost::system::error_code try_to_listen(const std::string& host, std::uint16_t port, bool loopback_only);
  std::uint16_t port() const { return port_; }

  // Whoever connects from now on is refused. What is under way at a door finds no listener.
  void close() {
    alive_ = std::make_shared<bool>(true);
    doors_.clear();
  }
  // Takes at once the connections that the kernel has already accepted.
  void accept_pending();

 private:
  // One address that is listened on.
  struct Door {
    explicit Door(const boost::asio::any_io_executor& executor) : acceptor(executor), pause(executor) {}
    boost::asio::ip::tcp::acceptor acceptor;
    boost::asio::steady_timer pause;  // while there are no descriptors
  };

  boost::system::error_code open(const boost::asio::ip::tcp::endpoint& address);
  void accept(Door& door);
  void accept_later(Door& door);

  boost::asio::any_io_executor executor_;
  std::function<void(boost::asio::ip::tcp::socket)> on_connection_;
  std::vector<std::unique_ptr<Door>> doors_;
  std::uint16_t port_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that run after the end of this object
};

}  // namespace launch

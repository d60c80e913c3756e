// Accepts connections on one port: on every interface, IPv6 and IPv4 in one, or on the loopback alone.
//
// Used by io/store_server. Never gives up: without descriptors or memory it pauses and tries again, since those who are
// connected are served on and closing some makes room. Whom `on_connection` names must outlive the object.
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

  // With `loopback_only` on the loopback address that `host` names. Port 0 takes a free one. A busy port is an error
  // that names its holder if the system tells.
  Status listen(const std::string& host, std::uint16_t port, bool loopback_only);
  // For who makes do with another's: why it failed is not looked into, which reads about every process of the machine.
  boost::system::error_code try_to_listen(const std::string& host, std::uint16_t port, bool loopback_only);
  std::uint16_t port() const { return port_; }

  // Takes at once whom the kernel has accepted already.
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
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that come after our end
};

}  // namespace launch

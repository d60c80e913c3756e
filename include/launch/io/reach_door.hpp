// Whether one host reaches another: node 0 of `launch --hosts` (in a check, each node) keeps a door open where its
// store will listen, which says a token to everybody who comes, and the other hosts try each of its addresses and look
// whether it says that. So an address that leads elsewhere, such as another host's own loopback or a port that is
// forwarded, is not taken for a way.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/hosts/host_frames.hpp"
#include "launch/io/port_listener.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace launch {

class ReachDoor {
 public:
  static constexpr Duration longest_try = std::chrono::seconds(5);

  ReachDoor(const boost::asio::any_io_executor& executor, std::string token);
  ReachDoor(const ReachDoor&) = delete;
  ReachDoor& operator=(const ReachDoor&) = delete;

  // On all interfaces; the error is for people.
  Status open(std::uint16_t port);

 private:
  boost::asio::any_io_executor executor_;
  std::string token_;
  PortListener listener_;
};

// Tries all addresses and targets at the same time, each for so long.
boost::asio::awaitable<ReachAnswer> try_to_reach(ReachQuestion question, Duration each = ReachDoor::longest_try);

}  // namespace launch

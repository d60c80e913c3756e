// An end for whatever a socket is doing: at the deadline its operations are cancelled.
//
// Stands beside the co_await it guards. Costs no coroutine of its own, and nothing when the deadline is `never`.
#pragma once

#include "launch/core/time.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>

namespace launch {

class Deadline {
 public:
  // The socket must outlive this object.
  Deadline(boost::asio::ip::tcp::socket& socket, Time when);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // The deadline came, and the operations under way were cancelled.
  bool passed() const { return guarded_->passed; }

 private:
  // Shared with the timer's handler, which may run after our end.
  struct Guarded {
    boost::asio::ip::tcp::socket* socket;
    bool passed;
  };
  std::shared_ptr<Guarded> guarded_;
  boost::asio::steady_timer timer_;
};

}  // namespace launch

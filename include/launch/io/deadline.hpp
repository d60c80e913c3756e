// What stands in every co_await of a socket: errors as values, and an end for whatever the socket is doing, since at
// the deadline its operations are cancelled.
//
// A Deadline stands beside the co_await it guards. Costs no coroutine of its own, and nothing when it is `never`.
#pragma once

#include "launch/core/base/time.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>

namespace launch {

// The completion token of io: co_await gives a tuple that begins with the error code, and nothing throws.
inline constexpr auto as_values = boost::asio::as_tuple(boost::asio::use_awaitable);

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

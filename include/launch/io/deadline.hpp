// What every co_await of a socket uses: errors are values, and whatever the socket is doing has an end, because its
// operations are cancelled at the deadline.
//
// A Deadline stands beside the co_await that it guards. It costs no coroutine of its own, and nothing if it is `never`.
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
  // Shared with the timer's handler, which may run after the end of this object.
  struct Guarded {
    boost::asio::ip::tcp::socket* socket;
    bool passed;
  };
  std::shared_ptr<Guarded> guarded_;
  boost::asio::steady_timer timer_;
};

}  // namespace launch

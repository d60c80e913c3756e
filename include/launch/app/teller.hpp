// Tells the other nodes of this node's failure while its own workers are looked at and ended: neither waits for the
// other. Used by AgentLoop alone. It tells one failure at a time, and the SessionRunner must outlive what it tells.
// Whether the others are told, and of what, is decided by Agent.
#pragma once

#include "launch/app/session_runner.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace launch {

class Teller {
 public:
  explicit Teller(boost::asio::any_io_executor executor) : executor_(executor), told_(executor) {}

  // Returns when the news is on its way. One after the other.
  boost::asio::awaitable<void> begin(SessionRunner& session, Failure failure);
  // The news is not out yet: which failure was the first is not known.
  bool tells() const { return tells_; }
  boost::asio::awaitable<void> until_told();

 private:
  boost::asio::awaitable<void> tell(SessionRunner& session, Failure failure);

  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer told_;
  bool tells_ = false;
};

}  // namespace launch

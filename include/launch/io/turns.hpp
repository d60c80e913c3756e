// Things that are being done at the same time, and must be told in the order in which they began: each takes a turn,
// waits for those before it, and ends it. app/agent_loop uses it for workers that fail. For one thread of control. A
// turn that never ends holds up all later ones.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <set>

namespace launch {

class Turns {
 public:
  explicit Turns(const boost::asio::any_io_executor& executor);

  int begin();
  // Until all earlier ones have ended.
  boost::asio::awaitable<void> come(int turn);
  void end(int turn);
  // None is going on.
  bool empty() const { return open_.empty(); }

 private:
  std::set<int> open_;
  int next_ = 0;
  boost::asio::steady_timer ended_;
};

}  // namespace launch

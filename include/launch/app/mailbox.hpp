// Events on their way to the agent: many coroutines put, one takes, with a deadline.
#pragma once

#include "launch/core/agent.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <optional>

namespace launch {

class Mailbox {
 public:
  explicit Mailbox(const boost::asio::any_io_executor& executor) : wake_(executor) {}

  void put(AgentEvent event);
  // Ahead of what is waiting.
  void put_first(AgentEvent event);
  // What the round that ends has said and nobody has read: it must not be taken for news of the next one.
  void forget_round();
  // nullopt: the deadline came first.
  boost::asio::awaitable<std::optional<AgentEvent>> take(Time deadline);

 private:
  std::deque<AgentEvent> events_;
  boost::asio::steady_timer wake_;
};

}  // namespace launch

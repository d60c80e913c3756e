// Events on their way to the agent: many coroutines put, one takes, with a deadline.
//
// The agent reads the next event when the actions of the last one are carried out, which may take seconds. What cannot
// wait so long is told at once to `on_grace`: how long workers may still run before the others go on without this node.
#pragma once

#include "launch/core/agent/agent.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <functional>
#include <optional>
#include <utility>

namespace launch {

class Mailbox {
 public:
  Mailbox(const boost::asio::any_io_executor& executor, std::function<void(Duration)> on_grace)
      : wake_(executor), on_grace_(std::move(on_grace)) {}

  void put(AgentEvent event);
  // Tells of a grace before it is known which event it belongs to.
  void limit(Duration grace);
  // Ahead of what is waiting.
  void put_first(AgentEvent event);
  // What the round that ends has said and nobody has read: it must not be taken for news of the next one.
  void forget_round();
  // nullopt: the deadline came first.
  boost::asio::awaitable<std::optional<AgentEvent>> take(Time deadline);

 private:
  std::deque<AgentEvent> events_;
  boost::asio::steady_timer wake_;
  std::function<void(Duration)> on_grace_;
};

}  // namespace launch

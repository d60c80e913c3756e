// Shows the guard that the agent's loop turns, while there are workers and other nodes that would give this one up if
// it did not. Tells the agent when it has stood still for so long that its guard has ended the workers. Used by
// AgentLoop. It ends no worker itself: that is the guard's.
#pragma once

#include "launch/app/mailbox.hpp"
#include "launch/io/life_sign.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/types.h>

namespace launch {

class Pulse {
 public:
  // `guard`: 0: there is none, and nothing is shown. The mailbox must outlive it.
  Pulse(const boost::asio::any_io_executor& executor, pid_t guard, Mailbox& mailbox);

  // Before an action is carried out: it begins before workers are started, and stops when none is left.
  void before(const AgentAction& action);

  // A signal of the guard has come.
  void hear();

 private:
  void begin(Duration patience);
  void stop();
  void beat();

  LifeSign* life_;
  pid_t guard_;
  Mailbox& mailbox_;
  boost::asio::steady_timer timer_;
  bool runs_ = false;
  Duration patience_{};  // how long the loop may stand still
  Time turned_{};        // when it turned last
};

}  // namespace launch

// Shows the guard that the agent's loop turns, while there are workers and other nodes that would give this one up if
// it did not. Tells the agent when it has stood still for so long that its guard has ended the workers. Used by
// AgentLoop. It ends no worker itself: that is the guard's.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/io/life_sign.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>

#include <sys/types.h>

namespace launch {

class Pulse {
 public:
  // `guard`: 0: there is none, and nothing is shown. `on_stall`: its guard has ended the workers, since it stood still
  // for so long.
  Pulse(const boost::asio::any_io_executor& executor, pid_t guard, std::function<void(Duration)> on_stall);

  // Before workers are started; the others bear a stall of `patience`, zero: of any length.
  void begin(Duration patience);
  // When none is left.
  void stop();
  // Before anything else is heard: a stall explains what comes of it.
  void look();

  // A signal of the guard has come.
  void hear();

 private:
  void beat();

  LifeSign* life_;
  pid_t guard_;
  std::function<void(Duration)> on_stall_;
  boost::asio::steady_timer timer_;
  bool runs_ = false;
  Duration patience_{};  // how long the loop may stand still
  Time turned_{};        // when it turned last
};

}  // namespace launch

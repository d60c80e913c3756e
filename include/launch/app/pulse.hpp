// Shows the guard that the agent's loop turns, as long as there are workers and other nodes that would give up this
// node if the loop stalled. Tells the agent if the loop has stalled for so long that the guard has ended the workers.
// AgentLoop uses it. It ends no worker itself: the guard does that.
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
  // `guard`: 0 if there is none; then nothing is shown. `on_stall` is called with the length of a stall when the guard
  // has ended the workers because of it.
  Pulse(const boost::asio::any_io_executor& executor, pid_t guard, std::function<void(Duration)> on_stall);

  // Must be called before workers are started. The other nodes tolerate a stall of `patience`; zero: of any length.
  void begin(Duration patience);
  // To be called when no worker is left.
  void stop();
  // Must be called before any other event is handled, because a stall explains the events that follow from it.
  void look();

  // A signal from the guard has arrived.
  void hear();

 private:
  void beat();

  LifeSign* life_;
  pid_t guard_;
  std::function<void(Duration)> on_stall_;
  boost::asio::steady_timer timer_;
  bool runs_ = false;
  Duration patience_{};  // how long the loop may stall
  Time turned_{};        // when the loop turned last
};

}  // namespace launch

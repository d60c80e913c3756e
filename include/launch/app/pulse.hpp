// Shows the guard that the agent's loop turns, and that the store has answered lately, as long as there are workers and
// other nodes that would give up this node otherwise. Tells the agent if the loop has stalled for so long that the
// guard has ended the workers. AgentLoop uses it. It ends no worker itself: the guard does that.
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

  // What the other nodes tolerate.
  struct Limits {
    Duration stall{};    // of the loop; zero: of any length, and then nothing is shown
    Duration silence{};  // since this node sent what the store has answered last; zero: no limit
  };
  // Must be called before workers are started. `last_answered`: when that was sent.
  void begin(Limits limits, std::function<Time()> last_answered);
  // To be called when no worker is left.
  void stop();
  // Must be called before any other event is handled, because a stall explains the events that follow from it.
  void look();

  // A signal from the guard has arrived.
  void hear();

 private:
  void beat();
  Duration patience() const;

  LifeSign* life_;
  pid_t guard_;
  std::function<void(Duration)> on_stall_;
  boost::asio::steady_timer timer_;
  bool runs_ = false;
  Limits limits_;
  std::function<Time()> last_answered_;
  Time turned_{};  // when the loop turned last
};

}  // namespace launch

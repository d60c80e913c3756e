// What an agent and its guard tell each other through shared memory, because a stuck agent hears no signal and sends
// none.
//
// The guard makes it before it makes the agent. core/guard_watch decides what the values mean.
#pragma once

#include "launch/core/agent/guard_watch.hpp"
#include "launch/core/base/time.hpp"

#include <atomic>
#include <cstdint>
#include <optional>

namespace launch {

class LifeSign {
 public:
  // nullptr: there is no memory. It is never freed: both processes use it until they end.
  static LifeSign* make();

  // By the agent.
  void turn(Time now, Duration patience);    // its loop turns; `patience` zero: nobody watches it
  void hear() { heard_.store(handed_on_); }  // it has taken a signal
  void say_end(int code) { end_.store(code); }

  // By the guard.
  std::uint32_t hand_on() { return ++handed_on_; }  // counts another signal, before it is sent; returns its number
  void tell_stall(Duration stall);

  AgentSign read() const;
  std::optional<int> end() const;
  // How long the loop had stalled when the guard ended the workers; zero: it has not ended them. Told once.
  Duration take_stall() { return Duration(stall_.exchange(0)); }
  // The guard has reported a stall at some time, and has then killed the workers' control groups.
  bool has_stalled() const { return stalled_.load(); }

 private:
  std::atomic<Duration::rep> turned_{0};
  std::atomic<Duration::rep> patience_{0};
  std::atomic<Duration::rep> stall_{0};
  std::atomic<bool> stalled_{false};
  std::atomic<std::uint32_t> handed_on_{0};
  std::atomic<std::uint32_t> heard_{0};
  std::atomic<int> end_{-1};  // the exit code that the agent leaves with; negative: not yet
};

}  // namespace launch

// Distinguishes one signal that arrives by several ways from several signals.
//
// A key press reaches every process of the foreground group, and a wrapper there passes it on to us: two arrivals, one
// key press. A scheduler that signals every process of a job reaches the agent directly and through its guard. So
// arrivals of one signal that follow each other closely are counted for each way, and the largest count is how many
// were meant.
#pragma once

#include "launch/core/base/time.hpp"

#include <array>
#include <cstddef>
#include <map>

namespace launch {

enum class SignalWay {
  terminal,  // a key press, through the guard
  guard,     // from another process, through the guard
  direct,    // to the agent itself
};

class SignalVolley {
 public:
  // True if this arrival is one more signal; false if that signal has already arrived another way.
  bool is_new(int signal, SignalWay way, Time now);

 private:
  struct Heard {
    std::array<std::size_t, 3> by_way{};
    Time last{};
  };
  std::map<int, Heard> heard_;
};

}  // namespace launch

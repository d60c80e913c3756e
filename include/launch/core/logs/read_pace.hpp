// How long the reader of the workers' pipes lets data gather before it reads again.
//
// A worker that writes each line by itself would wake the reader for each one. So when turns follow each other closely
// and bring little, the reader pauses. It does so as long as that brings more, and never so long that a pipe fills up.
// A line that comes alone is read at once. Core of the readers of io/log_relay and io/stderr_tap.
#pragma once

#include "launch/core/base/time.hpp"

#include <cstddef>

namespace launch {

class ReadPace {
 public:
  // The pause after a turn; zero: read at once. `bytes` came from all pipes; `crowded`: one of them was half full.
  Duration after(std::size_t bytes, bool crowded, Time now);

 private:
  Duration pause_{};  // zero: it does not pause
  Time since_{};      // when it began to count turns
  int turns_ = 0;
};

}  // namespace launch

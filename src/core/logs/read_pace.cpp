#include "launch/core/logs/read_pace.hpp"

#include <algorithm>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration longest_pause = 1ms;
constexpr Duration shortest_pause = 125us;
constexpr Duration window = 1ms;
constexpr int busy_turns = 8;                             // within the window; fewer cost little
constexpr std::size_t little = std::size_t{16} * 1024;    // bytes of a turn: larger blocks need no pause
constexpr std::size_t worth_a_pause = std::size_t{2048};  // bytes of a turn: some twenty lines

}  // namespace

Duration ReadPace::after(std::size_t bytes, bool crowded, Time now) {
  if (pause_ > Duration::zero()) {
    pause_ = crowded ? std::max<Duration>(pause_ / 2, shortest_pause) : std::min<Duration>(pause_ * 2, longest_pause);
    if (bytes < worth_a_pause) pause_ = Duration::zero();
    since_ = now;
    turns_ = 0;
    return pause_;
  }
  if (now > later(since_, window) || bytes >= little) {
    since_ = now;
    turns_ = 0;
  }
  if (bytes < little && ++turns_ >= busy_turns) pause_ = shortest_pause;
  return pause_;
}

}  // namespace launch

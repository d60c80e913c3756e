#include "launch/core/base/announcer.hpp"

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration first_word = 1s;

}  // namespace

Announcer::Announcer(Time start) : next_(later(start, first_word)) {}

bool Announcer::due(Time now, Duration interval) {
  if (now < next_) return false;
  next_ = later(now, interval);
  return true;
}

}  // namespace launch

#include "launch/app/announcer.hpp"

#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration first_word = 1s;

}  // namespace

Announcer::Announcer(Time start) : next_(later(start, first_word)) {}

bool Announcer::due() {
  if (now() < next_) return false;
  next_ = later(now(), progress_interval());
  return true;
}

}  // namespace launch

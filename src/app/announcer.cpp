#include "launch/app/announcer.hpp"

#include "launch/io/clock.hpp"

namespace launch {
using namespace std::chrono_literals;

namespace {

constexpr Duration first_word = 1s;
constexpr Duration next_word = 30s;

}  // namespace

Announcer::Announcer(Time start) : next_(later(start, first_word)) {}

bool Announcer::due() {
  if (now() < next_) return false;
  next_ = later(now(), next_word);
  return true;
}

}  // namespace launch

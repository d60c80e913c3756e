#include "launch/io/clock.hpp"

#include <array>
#include <ctime>

namespace launch {

Time now() { return Time(std::chrono::steady_clock::now().time_since_epoch()); }

Instant instant() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {now(), WallTime(std::chrono::duration_cast<WallClock::duration>(wall))};
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::chrono::steady_clock::time_point to_steady(Time time) {
  if (time == never) return std::chrono::steady_clock::time_point::max();
  return std::chrono::steady_clock::time_point(time.time_since_epoch());
}

std::string wall_time_text() {
  const std::time_t seconds = std::time(nullptr);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  return {text.data(), length};
}

}  // namespace launch

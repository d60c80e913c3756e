#include "launch/core/base/time.hpp"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace launch {

Time later(Time t, Duration d) {
  if (t == never || d >= never - t) return never;
  return t + d;
}

std::optional<WallTime> parse_wall_time(std::string_view text) {
  constexpr std::int64_t end = 4'260'000'000;
  std::int64_t seconds = 0;
  const char* const last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), last, seconds);
  if (error != std::errc() || stop != last || seconds < 1 || seconds >= end) return std::nullopt;
  return WallTime(std::chrono::seconds(seconds));
}

std::string to_text(Duration d) {
  using namespace std::chrono;
  const auto ms = duration_cast<milliseconds>(d).count();
  if (ms < 1000) return fmt::format("{} ms", ms);
  if (ms < 10'000 && ms % 1000 != 0) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000);
  if (ms >= 120'000 && ms % 60'000 == 0) return fmt::format("{} min", ms / 60'000);
  return fmt::format("{} s", (ms + 500) / 1000);
}

}  // namespace launch

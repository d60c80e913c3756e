#include "launch/core/logs/log_times.hpp"

#include <algorithm>
#include <chrono>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration between_parts = 1s;

}  // namespace

void LogTimes::wrote(std::uint64_t position, Time at) {
  if (!parts_.empty() && at < later(parts_.back().first, between_parts)) {
    parts_.back().last = std::max(parts_.back().last, at);
    return;
  }
  if (parts_.size() == most_parts) join_older_half();
  parts_.push_back({position, at, at});
}

// A part that begins where the file was cut holds nothing any more.
void LogTimes::cut(std::uint64_t position) {
  while (!parts_.empty() && parts_.back().position >= position) parts_.pop_back();
}

void LogTimes::join_older_half() {
  const std::size_t half = parts_.size() / 2;
  std::size_t kept = 0;
  for (std::size_t i = 0; i + 1 < half; i += 2) {
    parts_[kept] = parts_[i];
    parts_[kept++].last = parts_[i + 1].last;
  }
  parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(kept), parts_.begin() + static_cast<std::ptrdiff_t>(half));
}

std::optional<std::uint64_t> LogTimes::begin_of(Time since) const {
  const auto part =
      std::partition_point(parts_.begin(), parts_.end(), [since](const Part& one) { return one.last < since; });
  if (part == parts_.end()) return std::nullopt;
  return part->position;
}

}  // namespace launch

#include "launch/core/logs/log_times.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration between_parts = 1s;
constexpr int age_to_length = 64;  // of a part

}  // namespace

void LogTimes::wrote(std::uint64_t position, Time at) {
  if (!parts_.empty() && at < later(parts_.back().first, between_parts)) {
    parts_.back().last = std::max(parts_.back().last, at);
    return;
  }
  if (parts_.size() == most_parts) join_old_parts(at);
  parts_.push_back({position, at, at});
}

void LogTimes::clear() {
  if (!parts_.empty()) last_of_older_ = parts_.back().last;
  parts_.clear();
}

// A part that begins where the file was cut holds nothing any more.
void LogTimes::cut(std::uint64_t position) {
  while (!parts_.empty() && parts_.back().position >= position) parts_.pop_back();
}

// Few parts are left, however long the file was written to: their lengths grow with their age.
void LogTimes::join_old_parts(Time at) {
  std::vector<Part> kept;
  for (const Part& part : parts_) {
    if (!kept.empty() && part.last - kept.back().first <= (at - part.last) / age_to_length) {
      kept.back().last = part.last;
    } else {
      kept.push_back(part);
    }
  }
  parts_ = std::move(kept);
}

std::optional<std::uint64_t> LogTimes::begin_of(Time since) const {
  const auto part =
      std::partition_point(parts_.begin(), parts_.end(), [since](const Part& one) { return one.last < since; });
  if (part == parts_.end()) return std::nullopt;
  return part->position;
}

}  // namespace launch

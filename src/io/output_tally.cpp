#include "launch/io/output_tally.hpp"

#include <cstring>

namespace launch {
namespace {

// memchr is several times as fast as a loop over the bytes, unless lines are short.
std::uint64_t count_lines(std::string_view bytes) {
  std::uint64_t lines = 0;
  for (const void* end = nullptr; (end = std::memchr(bytes.data(), '\n', bytes.size())) != nullptr; ++lines)
    bytes.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(end) - bytes.data()) + 1);
  return lines;
}

}  // namespace

void StreamTally::begin() {
  passes_ = true;
  lost_before_ = lost_.load();
  first_ = last_ = Time();
}

void StreamTally::take(std::string_view bytes, Time at) {
  if (bytes.empty()) return;
  constexpr auto alone = std::memory_order_relaxed;
  if (first_.load(alone) == Time()) first_.store(at, alone);
  if (keeps_ == TallyKeeps::first) return;
  lines_.fetch_add(count_lines(bytes), alone);
  bytes_.fetch_add(bytes.size(), alone);
  last_.store(at, alone);
}

void StreamTally::set_lost(std::uint64_t bytes) {
  const std::uint64_t total = lost_before_ + bytes;
  std::uint64_t known = lost_;
  while (known < total && !lost_.compare_exchange_weak(known, total)) {
  }
}

std::optional<Time> StreamTally::first() const {
  const Time time = first_;
  return time == Time() ? std::nullopt : std::optional(time);
}

std::optional<Time> StreamTally::last() const {
  const Time time = last_;
  return time == Time() ? std::nullopt : std::optional(time);
}

OutputTally::OutputTally(int nproc, TallyKeeps keeps) : streams_(static_cast<std::size_t>(nproc)) {
  for (auto& streams : streams_)
    for (auto& stream : streams) stream = std::make_shared<StreamTally>(keeps);
}

}  // namespace launch

#include "launch/core/logs/line_router.hpp"

namespace launch {
namespace {

constexpr std::size_t most_kept = std::size_t{64} * 1024;  // bytes of memory, between lines

}  // namespace

void LineRouter::feed(std::string_view bytes, const Sink& sink) {
  const bool returns = held_.ends_with('\r') || bytes.find('\r') != std::string_view::npos;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    std::string_view part = bytes.substr(0, end);
    if (returns) part = last_state(part);
    if (end == std::string_view::npos) {
      hold(part, sink);
      return;
    }
    bytes.remove_prefix(end + 1);
    if (held_.empty()) {
      rewritten_ = false;
      sink(part);
    } else {
      held_ += part;
      give_held(sink);
    }
  }
}

// What stays of the next part of the line: carriage returns at its present end belong to it; any other restarts it.
std::string_view LineRouter::last_state(std::string_view part) {
  const auto last = part.find_last_not_of('\r');
  if (last == std::string_view::npos) return part;
  if (part.find('\r') < last) {
    held_.clear();
    rewritten_ = true;
    return part.substr(part.rfind('\r', last) + 1);
  }
  if (held_.ends_with('\r')) held_.clear();
  return part;
}

void LineRouter::hold(std::string_view part, const Sink& sink) {
  held_ += part;
  rewritten_ = rewritten_ || held_.ends_with('\r');
  if (held_.size() > longest_) give_held(sink);
}

void LineRouter::give_held(const Sink& sink) {
  rewritten_ = false;
  sink(held_);
  held_.clear();
  if (held_.capacity() > most_kept) held_.shrink_to_fit();
}

void LineRouter::flush(const Sink& sink) {
  if (holds()) give_held(sink);
}

}  // namespace launch

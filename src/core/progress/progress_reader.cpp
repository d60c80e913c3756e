#include "launch/core/progress/progress_reader.hpp"

#include <algorithm>
#include <utility>

namespace launch {
namespace {

constexpr std::string_view ends = "\r\n";
constexpr Duration slow = std::chrono::milliseconds(1);

}  // namespace

std::optional<ProgressReader::Seen> ProgressReader::feed(std::string_view bytes, Time now) {
  look_at_late(now);
  while (!bytes.empty() && left_ > 0) {
    const auto end = bytes.find_first_of(ends);
    add(bytes.substr(0, end), now);
    if (end == std::string_view::npos) return std::exchange(newest_, std::nullopt);
    bytes.remove_prefix(end + 1);
    if (!open_.text.empty()) {
      look(open_);
      --left_;
    }
    open_.text.clear();
  }
  if (!bytes.empty()) skip(bytes, now);
  return std::exchange(newest_, std::nullopt);
}

std::optional<ProgressReader::Seen> ProgressReader::settle(Time now) {
  look_at_late(now);
  if (!open_.text.empty() && now - open_.at >= window) look(open_);
  return std::exchange(newest_, std::nullopt);
}

void ProgressReader::spent(Duration time, Time now) {
  if (time < slow) return;
  left_ = 0;
  window_until_ = std::max(window_until_, later(now, 9 * time));
}

void ProgressReader::look_at_late(Time now) {
  if (now < window_until_) return;
  window_until_ = later(now, window);
  left_ = most_lines;
  if (const auto late = std::exchange(late_, std::nullopt)) look(*late);
}

void ProgressReader::look(const Line& line) {
  if (const auto found = pattern_->find(line.text)) newest_ = Seen{*found, line.at};
}

void ProgressReader::add(std::string_view part, Time now) {
  open_.text += part.substr(0, ProgressPattern::longest - std::min(open_.text.size(), ProgressPattern::longest));
  open_.at = now;
}

// Only the last line that has an end is kept, and what follows it.
void ProgressReader::skip(std::string_view bytes, Time now) {
  const auto last = bytes.find_last_of(ends);
  if (last == std::string_view::npos) return add(bytes, now);
  std::string_view body = bytes.substr(0, last);
  body = body.substr(0, body.find_last_not_of(ends) + 1);
  const auto before = body.find_last_of(ends);
  if (before == std::string_view::npos) {
    add(body, now);
  } else {
    open_ = {std::string(body.substr(before + 1, ProgressPattern::longest)), now};
  }
  if (!open_.text.empty()) late_ = open_;
  open_.text.clear();
  add(bytes.substr(last + 1), now);
}

}  // namespace launch

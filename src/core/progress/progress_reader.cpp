#include "launch/core/progress/progress_reader.hpp"

#include <algorithm>
#include <utility>

namespace launch {
namespace {

constexpr std::string_view line_ends = "\r\n";

// The first of `line_ends`, or npos; find_first_of would make a call for each byte.
std::size_t find_end(std::string_view bytes) {
  constexpr std::size_t at_once = 1024;  // so that a search for the one does not go far beyond the other
  for (std::size_t from = 0; from < bytes.size(); from += at_once) {
    const std::string_view part = bytes.substr(from, at_once);
    const auto newline = part.find('\n');
    const auto end = std::min(part.substr(0, newline).find('\r'), newline);
    if (end != std::string_view::npos) return from + end;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<ProgressReader::Seen> ProgressReader::feed(std::string_view bytes, Time now) {
  look_at_late(now);
  while (!bytes.empty() && left_ > 0) {
    const auto end = find_end(bytes);
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
  const bool stands = !open_.text.empty() && !open_.looked_at && now - open_.at >= window;
  if (stands && now >= rest_until_) look(open_);
  return std::exchange(newest_, std::nullopt);
}

std::size_t ProgressReader::next_feed(std::string_view bytes, Time now) const {
  const bool looks = left_ > 0 || now >= window_until_;
  const auto end = looks ? find_end(bytes) : std::string_view::npos;
  return end == std::string_view::npos ? bytes.size() : end + 1;
}

void ProgressReader::rest(Time until) {
  left_ = 0;
  rest_until_ = std::max(rest_until_, until);
  window_until_ = std::max(window_until_, until);
}

void ProgressReader::look_at_late(Time now) {
  if (now < window_until_) return;
  window_until_ = later(now, window);
  left_ = most_lines;
  if (auto late = std::exchange(late_, std::nullopt)) look(*late);
}

void ProgressReader::look(Line& line) {
  line.looked_at = true;
  if (const auto found = pattern_->find(line.text)) newest_ = Seen{*found, line.at};
}

void ProgressReader::add(std::string_view part, Time now) {
  open_.text += part.substr(0, ProgressPattern::longest - std::min(open_.text.size(), ProgressPattern::longest));
  open_.at = now;
  open_.looked_at = false;
}

// Only the last line that has an end is kept, and what follows it.
void ProgressReader::skip(std::string_view bytes, Time now) {
  const auto last = bytes.find_last_of(line_ends);
  if (last == std::string_view::npos) return add(bytes, now);
  std::string_view body = bytes.substr(0, last);
  body = body.substr(0, body.find_last_not_of(line_ends) + 1);
  const auto before = body.find_last_of(line_ends);
  if (before == std::string_view::npos) {
    add(body, now);
  } else {
    open_ = {std::string(body.substr(before + 1, ProgressPattern::longest)), now, false};
  }
  if (!open_.text.empty()) late_ = open_;
  open_.text.clear();
  add(bytes.substr(last + 1), now);
}

// ---- ProgressBudget

std::optional<Time> ProgressBudget::spent(Duration time, Time now) {
  if (now - since_ >= ProgressReader::window) {
    since_ = now - time;
    used_ = {};
  }
  used_ += time;
  if (used_ < most) return std::nullopt;
  return later(now, 9 * std::exchange(used_, Duration()));
}

}  // namespace launch

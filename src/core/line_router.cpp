#include "launch/core/line_router.hpp"

namespace launch {

void LineRouter::give(std::string_view end, const Sink& sink) {
  std::string line = prefix_;
  line += held_;
  line += end;
  held_.clear();
  rewritten_ = false;
  sink(line);
}

void LineRouter::feed(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    std::string_view part = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    // Carriage returns at the end of a line belong to it; any other begins the line anew.
    const auto last = part.find_last_not_of('\r');
    if (last != std::string_view::npos) {
      const auto back = part.find_last_of('\r', last);
      if (back != std::string_view::npos) {
        held_.clear();
        rewritten_ = true;
        part.remove_prefix(back + 1);
      } else if (held_.ends_with('\r')) {
        held_.clear();
      }
    }
    held_ += part;
    rewritten_ = rewritten_ || held_.ends_with('\r');
    if (end != std::string_view::npos) {
      give("\n", sink);
    } else if (held_.size() > longest_held) {
      give("\n", sink);
    }
  }
}

void LineRouter::flush(const Sink& sink) {
  if (holds()) give("\n", sink);
}

}  // namespace launch

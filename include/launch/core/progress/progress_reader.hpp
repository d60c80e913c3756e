// Looks for steps in the bytes of one stream, as they come. A line counts, and so does each state of a line that is
// rewritten by carriage returns (a progress bar). At most `most_lines` are looked at in each `window`; of what comes
// beyond that only the newest one is, when the window is over: a worker that writes much is not held up. Nor is one
// whose pattern is slow: ProgressBudget says when all readers must rest.
// Time is a parameter; no lock, no errors, and nothing is kept but one line.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/progress/progress_pattern.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace launch {

class ProgressReader {
 public:
  static constexpr int most_lines = 50;
  static constexpr Duration window = std::chrono::milliseconds(100);

  // The pattern must outlive it.
  explicit ProgressReader(const ProgressPattern& pattern) : pattern_(&pattern) {}

  struct Seen {
    ProgressPattern::Found found;
    Time at{};  // when it was written

    bool operator==(const Seen&) const = default;
  };
  // The newest step that became known by these bytes.
  std::optional<Seen> feed(std::string_view bytes, Time now);
  // The same without new bytes: a state that has stood for a while counts although nothing ends it.
  std::optional<Seen> settle(Time now);
  // How many of these bytes to feed at once, if each look at a line is timed: one line, or all if none is looked at.
  std::size_t next_feed(std::string_view bytes, Time now) const;
  // Nothing is looked at until then.
  void rest(Time until);

 private:
  struct Line {
    std::string text;
    Time at{};
    bool looked_at = false;
  };
  void look(Line& line);
  void look_at_late(Time now);
  void add(std::string_view part, Time now);
  void skip(std::string_view bytes, Time now);

  const ProgressPattern* pattern_;
  Line open_;                 // the beginning of a line that has no end yet
  std::optional<Line> late_;  // the newest one that the window had no room for
  Time window_until_{};
  Time rest_until_{};
  int left_ = 0;
  std::optional<Seen> newest_;
};

// The time that looks at lines take, of all streams together: a tenth of the whole at most.
class ProgressBudget {
 public:
  // In each window of a reader.
  static constexpr Duration most = ProgressReader::window / 10;

  // So long did the last look take. Until when all readers must rest; nullopt: they need not.
  std::optional<Time> spent(Duration time, Time now);

 private:
  Time since_{};
  Duration used_{};
};

}  // namespace launch

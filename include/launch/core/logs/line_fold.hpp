// Shows equal lines of several ranks once: a line waits until all ranks have printed it, or its time is up.
//
// Each line of each rank is given to the sink exactly once, and the lines of a rank in their order; lines of different
// ranks may change places within the window. The memory of waiting lines is bounded. Lines are bytes without prefix and
// end.
#pragma once

#include "launch/core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace launch {

class LineFold {
 public:
  // A line, valid during the call, and the local ranks that printed it, ascending. Must not call the LineFold.
  using Sink = std::function<void(std::string_view line, const std::vector<int>& local_ranks)>;

  // Above either of these limits the oldest lines wait no longer.
  static constexpr std::size_t most_text = std::size_t{4} * 1024 * 1024;  // bytes; those of a group count once
  static constexpr std::size_t most_groups = 10'000;

  // REQUIRES: nproc > 0. With one rank lines pass at once.
  LineFold(int nproc, Duration window);

  // Gives what all ranks have printed, and what is above the limits. Lines that are due are left to give_due, so that
  // lines that were read from all ranks in one turn still meet. REQUIRES: 0 <= local_rank < nproc.
  void take(int local_rank, std::string_view line, Time now, const Sink& sink);
  // Gives what has waited for the whole window.
  void give_due(Time now, const Sink& sink);
  void give_all(const Sink& sink);
  // When give_due has something to give; `never` if nothing waits.
  Time due() const;

 private:
  struct Group {
    std::string text;
    std::size_t hash = 0;              // of the text
    Time since;                        // when its first line came
    std::vector<std::uint64_t> ranks;  // that have printed it, one bit each
    int missing = 0;
  };
  // The numbers of the waiting groups with one hash, ascending; those before `first` have been given.
  struct Numbers {
    std::vector<std::uint64_t> all;
    std::size_t first = 0;
  };

  Group& group_for(int local_rank, std::string_view line, Time now);
  void give_front(const Sink& sink);
  void forget(std::size_t hash);

  int nproc_;
  Duration window_;
  std::deque<Group> groups_;  // that wait, by first appearance
  std::uint64_t given_ = 0;   // how many groups; so also the number of the front one
  std::unordered_map<std::size_t, Numbers> numbers_;
  std::size_t text_bytes_ = 0;
  std::vector<std::uint64_t> next_;  // by local rank: one more than the number of the last group that has it
  std::vector<int> ranks_;           // for the sink
};

}  // namespace launch

// Equal lines of several ranks, shown once: a line waits until all ranks have said it, or its time is up.
//
// Each line of each rank is given exactly once, and the lines of a rank in their order; those of different ranks may
// change places within the window. What waits is bounded. Lines are bytes without prefix and end.
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
  // A line, valid during the call, and the local ranks that said it, ascending. Must not call the LineFold.
  using Sink = std::function<void(std::string_view line, const std::vector<int>& local_ranks)>;

  // With more than one of these the oldest lines wait no longer.
  static constexpr std::size_t most_text = std::size_t{4} * 1024 * 1024;  // bytes, those of a group once
  static constexpr std::size_t most_groups = 10'000;

  // REQUIRES: nproc > 0. With one rank lines pass at once.
  LineFold(int nproc, Duration window);

  // Gives what all ranks have said, and what is too much; what is due is left to give_due, so that the lines of one
  // reading of all ranks still meet. REQUIRES: 0 <= local_rank < nproc.
  void take(int local_rank, std::string_view line, Time now, const Sink& sink);
  // What has waited for the window.
  void give_due(Time now, const Sink& sink);
  void give_all(const Sink& sink);
  // When give_due has something to give; never when nothing waits.
  Time due() const;

 private:
  struct Group {
    std::string text;
    std::size_t hash = 0;              // of the text
    Time since;                        // its first line came
    std::vector<std::uint64_t> ranks;  // that have said it, a bit each
    int missing = 0;
  };
  // Of the waiting groups of one hash, ascending; those before `first` have been given.
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
  std::uint64_t given_ = 0;   // groups: the number of the front one
  std::unordered_map<std::size_t, Numbers> numbers_;
  std::size_t text_bytes_ = 0;
  std::vector<std::uint64_t> next_;  // by local rank: the number behind the last group that has it
  std::vector<int> ranks_;           // for the sink
};

}  // namespace launch

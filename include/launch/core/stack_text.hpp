// Where a Python worker is, read from what `py-spy dump` or Python's own faulthandler prints of its threads; and the
// ranks of a job put together by where they are, so that the one that waits for nobody stands out. Pure; reads any
// bytes in linear time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace launch {

// The main thread's stack, innermost first, each as "f (x.py:3)", or as "poll (libc.so.6)" where there is no line;
// empty if there is none. Up to 256 frames of 300 bytes.
std::vector<std::string> main_stack(std::string_view text);

// The one frame of a stack worth naming: the innermost that is neither native, nor a decorator's, nor one of Python's
// own waits, as these say nothing about what is waited for; the innermost of all where there is no other.
std::string stack_summary(const std::vector<std::string>& stack);

struct RankStack {
  int rank = 0;
  std::string where;
};

struct StackGroup {
  std::string where;
  std::vector<int> ranks;  // ascending

  bool operator==(const StackGroup&) const = default;
};

// The smallest group first, as the outlier is what is looked for; of equal ones that with the lowest rank.
std::vector<StackGroup> group_by_place(std::vector<RankStack> stacks);

}  // namespace launch

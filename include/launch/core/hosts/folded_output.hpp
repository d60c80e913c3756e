// Equal lines of the workers of all hosts are shown once, with the ranks of all that wrote them: `launch --hosts
// --fold`. Each node marks its lines with the ranks (node_prefix) and folds those of its own workers; here the lines of
// different nodes meet, which come within `fold_window` of each other. Used by core/hosts/host_table, for one stream of
// all hosts. Pure; times are those of one clock.
//
// Each line of each rank is shown exactly once, and those of a rank in their order; lines of different ranks may change
// places within the window. Memory is bounded as core/logs/line_fold says. A line without a mark is a message of launch
// on that host and passes at once. It never fails: a mark that makes no sense counts as none.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/logs/line_fold.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

constexpr Duration fold_window = std::chrono::milliseconds(300);

// --log-line-prefix-template of each node.
constexpr std::string_view node_prefix = "\x1e${rank}\x1f";

class FoldedOutput {
 public:
  // `ranks`: how many workers the hosts have, all together; more than a million count as a million.
  explicit FoldedOutput(int ranks);

  // A line of a node, without its end. What is to be shown now is appended to `text`.
  void take(std::string_view line, Time now, std::string& text);
  void give_due(Time now, std::string& text);
  void give_all(std::string& text);
  // When give_due() has something to give; `never` if nothing waits.
  Time due() const { return fold_.due(); }

 private:
  int ranks_;
  LineFold fold_;
};

}  // namespace launch

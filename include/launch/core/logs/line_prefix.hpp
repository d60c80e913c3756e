// The prefix of each line that the console shows: the user's template, filled with facts about the worker that printed
// the line. Used by the consoles (io/log_console). A name in the template that has no value stays as it is. Times are
// text that the caller gives.
#pragma once

#include "launch/core/job/rank.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace launch {

// The workers of this node, for the variables of the template.
struct PrefixFacts {
  std::string role;
  std::string host;  // its short name
  NodeRank node_rank{};
  GlobalRank base_rank{};  // RANK of local rank 0
  int restarts = 0;        // of the job, so far
  int nproc = 1;
};

struct PrefixStyle {
  std::string pattern = "[${role_name}${local_rank}]:";
  bool aligned = false;   // all have the width of the widest, by blanks after them
  bool coloured = false;  // by rank, for a terminal
};

class LinePrefix {
 public:
  // `stream` is what ${stream} becomes.
  LinePrefix(PrefixStyle style, PrefixFacts facts, std::string stream);

  // The pattern has ${time}, so the time is needed.
  bool timed() const { return timed_; }
  // Adds the prefix of one worker, or of several that printed the same line, ascending.
  void add(std::string& text, int local_rank, std::string_view time) const;
  void add(std::string& text, const std::vector<int>& local_ranks, std::string_view time);

 private:
  // A prefix, cut where the time must stand.
  using Pieces = std::vector<std::string>;

  Pieces make(const std::vector<int>& local_ranks) const;
  Pieces decorated(Pieces pieces, int local_rank) const;

  PrefixStyle style_;
  PrefixFacts facts_;
  std::string stream_;
  bool timed_ = false;
  std::size_t width_ = 0;
  std::vector<Pieces> single_;                   // by local rank
  std::map<std::vector<int>, Pieces> together_;  // bounded: cleared when it has grown too large
};

}  // namespace launch

// Puts into words what was seen of a node's workers when a failure was known: the text of evidence.txt, and for the
// verdict the place where a rank is, if something odd is known about it. app/evidence looks, and tells it what it sees;
// nothing is looked at here.
#pragma once

#include "launch/core/host/process_stat.hpp"
#include "launch/core/job/rank.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <map>
#include <string>
#include <vector>

namespace launch {

class EvidenceNotes {
 public:
  // A process of this rank. `is_worker`: it is the worker itself, not a process that the worker has started.
  void add(GlobalRank rank, const ProcessLook& look, bool is_worker);
  // This rank and all later ones were not looked at.
  void out_of_time(GlobalRank rank);
  // What py-spy or Python's own faulthandler printed about the worker.
  void add_stack(GlobalRank rank, const std::string& dump);

  const std::string& text() const { return text_; }
  // What each worker was doing, of all that were looked at and had not ended.
  std::vector<RankGroup> states() const;
  // Ranks about which nothing odd is known are left out.
  std::vector<RankGroup> places() const;
  // The stacks of main threads, innermost frame first.
  const std::map<GlobalRank, std::vector<std::string>>& stacks() const { return stacks_; }
  bool has_stacks() const { return has_stacks_; }

 private:
  std::string text_;
  std::map<GlobalRank, std::string> state_by_rank_, place_by_rank_;
  std::map<GlobalRank, std::vector<std::string>> stacks_;
  bool has_stacks_ = false;
};

}  // namespace launch

// Which workers of this node the console shows now: those of --local-ranks-filter, which launch-ctl may change while
// the job runs. JobFolder has it for the life of the process. Any thread may ask and change it; what is shown already
// stays. It knows nothing of streams and files.
#pragma once

#include "launch/core/job/rank.hpp"

#include <atomic>
#include <set>
#include <vector>

namespace launch {

class ShownRanks {
 public:
  // `shown`: local ranks; empty: all.
  ShownRanks(int nproc, const std::set<int>& shown) : muted_(static_cast<std::size_t>(nproc)) { show(shown); }

  void show(const std::set<int>& shown);
  // One that is not known is shown.
  bool has(LocalRank local_rank) const {
    return local_rank.index() >= muted_.size() || !muted_[local_rank.index()].load(std::memory_order_relaxed);
  }

 private:
  std::vector<std::atomic<bool>> muted_;  // by local rank
};

}  // namespace launch

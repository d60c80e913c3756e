// Which ranks others waited for in vain. If the first failure of a job is a time-out, the rank that had it is the one
// that waited; the cause is a rank that did not come, which has said nothing. It is found by what the others said and
// by what each worker was doing. If it is a connection that another rank closed, the cause is a rank that ended by
// itself; if all that ended had waited, too, and one of them timed out, it is again the rank that did not come. Used by
// render_verdict. It names nobody unless that is clear, and looks at nothing but the verdict.
#pragma once

#include "launch/core/verdict/verdict.hpp"

#include <optional>
#include <vector>

namespace launch {

struct MissingRanks {
  std::vector<int> ranks;         // ascending; empty: it is not clear who is missing
  std::vector<RankGroup> doings;  // what they did, or what all of them did that may be missing
  bool gone = false;              // they had ended, and the first failure found its connection closed
  GlobalRank waiter{};            // whose wait timed out, unless they had ended
};

// nullopt: the first failure says nothing of other ranks.
std::optional<MissingRanks> missing_ranks(const Verdict& verdict);

// What a node tells of where its workers ran: nothing, unless others may have waited for them.
std::vector<RanksOnNode> hosts_to_tell(const std::optional<Failure>& first, RanksOnNode workers);

}  // namespace launch

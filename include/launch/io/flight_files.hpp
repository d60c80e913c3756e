// Finds the files that PyTorch's flight recorders have left (core/verdict/flight_record). JobRecord calls it on a
// thread that may wait for a disk. Files of earlier jobs may lie there, too, so only those are read that were written
// since the workers started.
#pragma once

#include "launch/core/base/environment.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/verdict/verdict.hpp"

#include <vector>

namespace launch {

struct FlightFiles {
  Environment env;  // of the workers
  WallTime since;   // when they started
};

// `states`, except that for ranks with a record this says how many collectives they have begun. `also`: a rank that may
// have a record, too.
std::vector<RankGroup> with_records(const FlightFiles& files, const std::vector<RankGroup>& states, GlobalRank also);

}  // namespace launch

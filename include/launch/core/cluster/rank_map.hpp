// Which rank of a start is on which node, as the servers of MPI starters tell it in one line: "(vector,(0,3,2))" is,
// from node 0 on, three nodes with two ranks each; "(vector,0,[(1,2,1)]x2)" is one rank on node 0, and one on node 1
// and one on node 2, twice. It begins again at its end if there are more ranks. Pure.
//
// Source: what MPICH 4.0 and 5.0, Intel MPI 2021 and Slurm 22.05 tell, as recorded.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/job/rank.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace launch {

// Where a task of the starter is, and its number if the tasks are counted node by node, from the node of task 0 on.
struct MappedPlace {
  TaskPlace place;
  int rank = 0;
};

// An error if the map is nonsense.
Result<MappedPlace> place_by_map(std::string_view map, int task, int tasks);

// The map of ranks whose hosts are known, in their order; empty if none is.
std::string map_of_hosts(const std::vector<std::string>& hosts);

}  // namespace launch

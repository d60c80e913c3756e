// The same as io/pmi_exchange with the PMIx server of Open MPI, which is spoken to by the starter's own library: it is
// loaded at run time, in a process of its own, since it may print, hang or abort. Nothing is left of it when a worker
// starts. Blocks. Afterwards no other process can be this rank for MPI.
//
// Source: the interface of PMIx 3 and 4 (pmix_common.h), as far as it is used: its layout has not changed since.
#pragma once

#include "launch/core/cluster/cluster_start.hpp"
#include "launch/io/pmi_exchange.hpp"

#include <string>
#include <vector>

namespace launch {

// Where the library may be: beside the program that started this process, else where the system finds it.
std::vector<std::string> pmix_libraries(const ProcessFacts& process);

// ErrorCode::closed: no library can be used, for the reason that the message has.
Result<RankAnswer> exchange_by_pmix(const RankQuestion& question, const std::vector<std::string>& libraries);

}  // namespace launch

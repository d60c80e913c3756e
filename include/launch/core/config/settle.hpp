// settle(): the user's options and the facts of this host become Config, or one error that says what is wrong, where it
// came from and what would be right.
//
// Pure: it looks at nothing but its arguments.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/core/config/config.hpp"
#include "launch/core/options/options.hpp"

#include <vector>

namespace launch {

Result<Config> settle(const Options& options, const HostFacts& facts);

// A part of settle() that holds for the head of launch --hosts, too: which signals end the job, and which one warns it
// (unchanged: none).
Status settle_signals(const Options& options, std::vector<int>& ending, int& warning);
// The same: which ends of the job mean that the scheduler is to start it again.
Status settle_requeue(const Options& options, Preemption& preemption);

}  // namespace launch

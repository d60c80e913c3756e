// Why a worker ended as it did, if this node knows more than its exit status: a watchdog timer, an early warning, a
// signal that was passed on, the memory limit. AgentLoop adds it to the failure of a worker. It finds nothing out:
// facts come in as values, and those that tell the most come first.
#pragma once

#include "launch/core/job/job.hpp"

#include <optional>
#include <string>

namespace launch {

struct EndCause {
  std::optional<std::string> expired_timer;  // the timer for which the watchdog has sent a signal
  bool warned = false;                       // the worker died of the early warning that was passed on
  bool passed_on = false;                    // it died of another signal that was passed on
  bool out_of_memory = false;                // the kernel killed this worker because of that
  std::string memory;                        // what is known about the memory; empty: nothing is wrong
};

// The rest of a sentence that says how the worker ended: ", segmentation fault"; may be empty.
std::string to_text(const EndCause& cause, const ExitStatus& status);

}  // namespace launch

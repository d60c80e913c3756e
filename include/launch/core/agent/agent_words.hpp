// What an agent says of itself, as texts: what it does about a signal, what it tells the others of its own end, why it
// has lost the store, and why it does not do what a user asks. Agent uses them; they decide nothing, and end with no
// full stop.
#pragma once

#include "launch/core/agent/agent.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace launch {

struct SignalMoment {
  int signal = 0;
  std::string_view sender;  // as "from pid 7", or empty
  bool stopping = false;    // the job was told to end before, and its workers are ending
  bool hurried = false;     // and told again
  bool workers = false;     // some run
  bool hook = false;        // the after-hook runs
};
std::string stop_words(const SignalMoment& moment, Duration short_grace);

// This node ends because of a signal. A node that is lost is no stop of the job: its loss is the cause, unless the
// others go on without it (`may_leave`), who hear only that it has left.
Failure failure_of_stop(FailurePlace where, const SignalReceived& event, bool may_leave);

// The process of this launch that others see was killed. `lost`: that is the loss of a node; otherwise a stop.
Failure failure_of_kill(FailurePlace where, bool lost);

// `static_job`: the store is node 0's.
std::string lost_store_words(const StoreLost& event, bool static_job);

// Why a node cannot be drained, if its workers run. `may_change`: one more change of the nodes does not end the job.
std::optional<std::string> needed_words(bool elastic, bool may_leave, bool may_change);

}  // namespace launch

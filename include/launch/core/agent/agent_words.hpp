// What an agent says of itself, as texts: what it does about a signal, why it has lost the store, and
// why it does not do what a user asks. Agent uses them; they decide nothing, and end with no full
// stop.
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

// `static_job`: the store is node 0's.
std::string lost_store_words(const StoreLost& event, bool static_job);

// Why a node cannot be drained, if its workers run.
std::optional<std::string> needed_words(bool elastic, bool may_leave);

}  // namespace launch

// What a signal means that has reached this process: to whom it is to be handed, or that it is one that was handed
// before. Asked by AgentLoop, which does what is said. It handles no signal itself and knows a process only as "the
// guard".
#pragma once

#include "launch/core/agent/signal_volley.hpp"
#include "launch/core/base/time.hpp"

#include <utility>
#include <vector>

namespace launch {

enum class SignalMeaning {
  child_ended,
  guard_gone,  // the process that the user sees was killed
  known,       // it has come another way before
  pass_on,     // it is for the workers
  warning,     // an early one: the workers may save and end
  stop,        // the job must end
};

struct SignalRules {
  int child_ended = 0;
  int guard_gone = 0;
  std::vector<int> passed;  // on to the workers
  std::vector<int> ending;  // that end the job, in the user's words
  int preempt = 0;          // the early warning; 0: none
};

class SignalDesk {
 public:
  explicit SignalDesk(SignalRules rules) : rules_(std::move(rules)) {}

  // `workers`: they have been started.
  SignalMeaning meaning_of(int signal, SignalWay way, bool workers, Time now);
  // The workers have been warned before.
  bool warned() const { return warned_; }

 private:
  bool is_warning(int signal, bool workers) const;

  SignalRules rules_;
  SignalVolley volley_;
  bool warned_ = false;
};

}  // namespace launch

// Decides what a signal that has reached this process means: who must get it, or that it is one that has already
// arrived another way. Asked by AgentLoop, which acts on the answer. It handles no signal itself and knows a process
// only as "the guard".
#pragma once

#include "launch/core/agent/signal_volley.hpp"
#include "launch/core/base/time.hpp"
#include "launch/core/job/job.hpp"

#include <utility>
#include <vector>

namespace launch {

enum class SignalMeaning {
  child_ended,
  guard_gone,  // the process that the user sees was killed
  known,       // it has already arrived another way
  pass_on,     // it is for the workers
  warning,     // an early warning: the workers may save and exit
  stop,        // the job must end
};

// Of this round, when a signal comes.
enum class WorkersAre {
  not_there,  // the nodes are still meeting, or meet again
  running,
  ended,  // and the node waits for others, or closes down
};

struct SignalRules {
  int child_ended = 0;
  int guard_gone = 0;
  std::vector<int> passed;  // on to the workers
  std::vector<int> ending;  // the job, as the user chose
  int preempt = 0;          // the early warning; 0: none
};

class SignalDesk {
 public:
  explicit SignalDesk(SignalRules rules) : rules_(std::move(rules)) {}

  SignalMeaning meaning_of(int signal, SignalWay way, WorkersAre workers, Time now);
  // The same if no signal has come, but the time of the job is nearly up.
  SignalMeaning meaning_of_time(WorkersAre workers);
  // The scheduler has warned before the job's workers ended.
  bool warned() const { return warned_; }
  // How long a worker's end by a signal is to be kept back, to see whether launch gets that signal as well: a scheduler
  // may send it to every process of a job, and it reaches the workers first. Zero: this end needs no such wait.
  Duration wait_for_same(const ExitStatus& status) const;
  // The workers have got this signal of somebody else through launch.
  bool has_passed_on(int signal) const;

 private:
  bool is_warning(int signal) const;

  SignalRules rules_;
  SignalVolley volley_;
  bool warned_ = false;
  bool told_ = false;  // the same, but perhaps when the workers had ended
  std::vector<int> passed_on_;
};

}  // namespace launch

#include "launch/core/agent/signal_desk.hpp"

#include <algorithm>

namespace launch {
namespace {

bool contains(const std::vector<int>& signals, int signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

}  // namespace

SignalMeaning SignalDesk::meaning_of(int signal, SignalWay way, WorkersAre workers, Time now) {
  if (signal == rules_.child_ended) return SignalMeaning::child_ended;
  if (signal == rules_.guard_gone) return SignalMeaning::guard_gone;
  if (!volley_.is_new(signal, way, now)) return SignalMeaning::known;
  if (contains(rules_.passed, signal)) {
    if (workers == WorkersAre::running && !has_passed_on(signal)) passed_on_.push_back(signal);
    return SignalMeaning::pass_on;
  }
  return is_warning(signal) ? meaning_of_time(workers) : SignalMeaning::stop;
}

// Nothing else could end a job that waits for its nodes. One whose workers have ended has nothing to save.
SignalMeaning SignalDesk::meaning_of_time(WorkersAre workers) {
  told_ = true;
  warned_ = warned_ || workers != WorkersAre::ended;
  return workers == WorkersAre::not_there ? SignalMeaning::stop : SignalMeaning::warning;
}

Duration SignalDesk::wait_for_same(const ExitStatus& status) const {
  constexpr Duration patience = std::chrono::milliseconds(100);
  // A shell turns the end of its child into an exit code of its own.
  const int signal = exit_code(status) - 128;
  return contains(rules_.ending, signal) ? patience : Duration::zero();
}

bool SignalDesk::has_passed_on(int signal) const { return contains(passed_on_, signal); }

// If the signal is also one that ends the job, only the first one is a warning; otherwise each one is.
bool SignalDesk::is_warning(int signal) const {
  return signal == rules_.preempt && (!contains(rules_.ending, signal) || !told_);
}

}  // namespace launch

#include "launch/core/agent/signal_desk.hpp"

#include "launch/core/job/job.hpp"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

namespace launch {
namespace {

bool contains(const std::vector<int>& signals, int signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

}  // namespace

SignalMeaning SignalDesk::meaning_of(int signal, SignalWay way, bool workers, Time now) {
  if (signal == rules_.child_ended) return SignalMeaning::child_ended;
  if (signal == rules_.guard_gone) return SignalMeaning::guard_gone;
  if (!volley_.is_new(signal, way, now)) return SignalMeaning::known;
  if (contains(rules_.passed, signal)) return SignalMeaning::pass_on;
  if (!is_warning(signal, workers)) return SignalMeaning::stop;
  warned_ = true;
  return SignalMeaning::warning;
}

// A second Ctrl-C shortens the time that the workers have, and a third one kills them (Agent).
std::string SignalDesk::stop_text(int signal, std::string_view sender) {
  const std::string who = fmt::format("received {}{}{}", signal_name(signal), sender.empty() ? "" : " ", sender);
  if (signal != SIGINT) return who + ", stopping";
  ++interrupts_;
  if (interrupts_ == 1) return who + ", stopping (again: the workers get 3 s at most; a third time: they are killed)";
  return who + (interrupts_ == 2 ? " again: the workers get 3 s at most" : " again: killing the workers");
}

// If the signal is also one that ends the job, only the first one is a warning; otherwise each one is.
bool SignalDesk::is_warning(int signal, bool workers) const {
  return signal == rules_.preempt && workers && (!contains(rules_.ending, signal) || !warned_);
}

}  // namespace launch

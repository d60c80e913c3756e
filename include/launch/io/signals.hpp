// Signals as an awaitable stream: they are blocked in the process and read from a signalfd. No handler ever runs.
// commands makes the plan, and AgentLoop reads the stream. Signals that the kernel merges come once. The sender is
// known if it was in this PID namespace.
#pragma once

#include "launch/core/base/error.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

namespace launch {

// What is done with each signal. spawn must undo in a worker what was ignored when launch began, except SIGHUP (nohup).
struct SignalPlan {
  std::vector<int> handled;  // blocked, and delivered by SignalStream
  std::vector<int> passed;   // the same, but they are for the workers and end nothing
  std::vector<int> ending;   // those of `handled` that must end the job
  std::vector<int> reset;    // ignored now; workers get the default action
};

// Ignores SIGPIPE and SIGXFSZ, and looks at what is ignored. Plans to handle SIGTERM, SIGINT, SIGHUP (unless it is
// ignored, as under nohup), SIGQUIT and SIGCHLD. Must be called first in main. Nothing is blocked yet: until a job
// begins, a signal ends launch at once, even if launch waits for a file system that does not answer.
SignalPlan take_over_signals();

// Plans to handle the signals in `wanted` and no others, with three exceptions: SIGCHLD is handled; so is SIGALRM,
// because a program that sets an alarm and becomes launch by exec wants all of it to end then; and SIGHUP stays ignored
// under nohup. SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP and SIGWINCH are passed on, unless they are ignored or in `wanted`.
// Blocks all these. Must be called before any thread and any SignalStream is made.
void choose_signals(SignalPlan& plan, const std::vector<int>& wanted);

// Whether it ends what this process does: it is handled, and neither passed on nor about a child.
bool is_ending(const SignalPlan& plan, int signal);

// Those that are handled and those that are passed on.
sigset_t all_signals(const SignalPlan& plan);

inline constexpr pid_t terminal_sender = -1;   // a key that the user pressed
inline constexpr pid_t clock_sender = -2;      // no signal: the time of the job is nearly up
inline constexpr pid_t lost_head_sender = -3;  // the connection to launch --hosts is lost, which has started this one

struct ReceivedSignal {
  int signal = 0;
  pid_t sender = 0;     // 0: the kernel, or outside this PID namespace
  pid_t origin = 0;     // who had sent it to the sender, if that says so, as our guard does
  bool of_all = false;  // all nodes of the job are told, by launch-ctl
};

// "from the terminal", "from pid 7 (bash)"; empty if it is not known.
std::string sender_text(pid_t origin);

class SignalStream {
 public:
  SignalStream(const boost::asio::any_io_executor& executor, const SignalPlan& plan);

  // The next signal; an error only when the stream was closed.
  boost::asio::awaitable<Result<ReceivedSignal>> next();

 private:
  boost::asio::posix::stream_descriptor fd_;
};

}  // namespace launch

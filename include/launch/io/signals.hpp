// Signals as an awaitable stream: blocked in the process, fetched from a signalfd. No handler ever runs. Used by
// commands, which plans, and AgentLoop, which reads. A signal that the kernel merges comes once; who sent it is known
// if the sender was in this PID namespace.
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

// What spawn must undo in a worker: everything that was ignored when launch began, SIGHUP excepted (nohup).
struct SignalPlan {
  std::vector<int> handled;  // blocked, and delivered by SignalStream
  std::vector<int> passed;   // the same, but they are for the workers and end nothing
  std::vector<int> ending;   // of those that are handled: each is to end the job
  std::vector<int> reset;    // ignored now, to be set to default in workers
};

// Ignores SIGPIPE and SIGXFSZ, and looks at what is ignored. The plan is to handle SIGTERM, SIGINT, SIGHUP (unless it
// is ignored, as under nohup), SIGQUIT and SIGCHLD. To be called first in main. Nothing is blocked yet: until a job
// begins, a signal ends launch at once, even if it waits for a file system that does not answer.
SignalPlan take_over_signals();

// Plans to handle the signals in `wanted` and no other, except SIGCHLD, SIGHUP under nohup, which stays as it is, and
// SIGALRM: who sets an alarm and becomes launch by exec wants all of it to end then.
// SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP and SIGWINCH are passed on, unless they are ignored or in `wanted`. Blocks all
// these. To be called before any thread and any SignalStream is made.
void choose_signals(SignalPlan& plan, const std::vector<int>& wanted);

// Those that are handled and those that are passed on.
sigset_t all_signals(const SignalPlan& plan);

inline constexpr pid_t terminal_sender = -1;  // a key that the user pressed

struct ReceivedSignal {
  int signal = 0;
  pid_t sender = 0;  // 0: the kernel, or outside this PID namespace
  pid_t origin = 0;  // who had sent it to the sender, where that says so: our guard does
};

// "from the terminal", "from pid 7 (bash)"; empty where nobody knows.
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

#include "launch/io/signals.hpp"

#include "launch/core/base/text.hpp"
#include "launch/io/files.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace launch {
namespace asio = boost::asio;

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t set_of(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace

bool is_ending(const SignalPlan& plan, int signal) {
  return signal != SIGCHLD && std::find(plan.handled.begin(), plan.handled.end(), signal) != plan.handled.end();
}

sigset_t all_signals(const SignalPlan& plan) {
  sigset_t set = set_of(plan.handled);
  for (const int signal : plan.passed) sigaddset(&set, signal);
  return set;
}

SignalPlan take_over_signals() {
  SignalPlan plan;
  const bool under_nohup = is_ignored(SIGHUP);
  // A closed console or socket, or a log file that has reached `ulimit -f`, must be an error and not end launch.
  ::signal(SIGPIPE, SIG_IGN);  // NOLINT(bugprone-unsafe-functions)
  ::signal(SIGXFSZ, SIG_IGN);  // NOLINT(bugprone-unsafe-functions)
  for (int signal = 1; signal < NSIG; ++signal)
    if (is_ignored(signal) && signal != SIGHUP) plan.reset.push_back(signal);
  plan.handled = {SIGTERM, SIGINT, SIGQUIT, SIGCHLD};
  if (!under_nohup) plan.handled.push_back(SIGHUP);
  // An ignored SIGCHLD would make the kernel reap our workers.
  ::signal(SIGCHLD, SIG_DFL);
  return plan;
}

void choose_signals(SignalPlan& plan, const std::vector<int>& wanted) {
  const std::vector<int> before = plan.handled;
  plan.handled = {SIGCHLD};
  for (const int signal : wanted)
    if (signal != SIGHUP || !is_ignored(SIGHUP)) plan.handled.push_back(signal);
  plan.handled.push_back(SIGALRM);
  plan.passed.clear();
  for (const int signal : {SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP, SIGWINCH})
    if (!is_ignored(signal) && std::find(wanted.begin(), wanted.end(), signal) == wanted.end())
      plan.passed.push_back(signal);
  const sigset_t chosen = all_signals(plan);
  ::sigprocmask(SIG_BLOCK, &chosen, nullptr);
  sigset_t released = set_of(before);
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&chosen, signal) == 1) sigdelset(&released, signal);
  ::sigprocmask(SIG_UNBLOCK, &released, nullptr);
}

SignalStream::SignalStream(const asio::any_io_executor& executor, const SignalPlan& plan) : fd_(executor) {
  const sigset_t set = all_signals(plan);
  const int fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd >= 0) fd_.assign(fd);
}

asio::awaitable<Result<ReceivedSignal>> SignalStream::next() {
  signalfd_siginfo info{};
  auto [error, length] =
      co_await fd_.async_read_some(asio::buffer(&info, sizeof info), asio::as_tuple(asio::use_awaitable));
  if (error || length != sizeof info)
    co_return Error{ErrorCode::cancelled, "the signal stream ended: " + error.message()};
  const auto sender = static_cast<pid_t>(info.ssi_pid);
  const pid_t origin = info.ssi_code == SI_QUEUE ? static_cast<pid_t>(info.ssi_int) : sender;
  co_return ReceivedSignal{static_cast<int>(info.ssi_signo), sender, origin};
}

std::string sender_text(pid_t origin) {
  if (origin == terminal_sender) return "from the terminal";
  if (origin == clock_sender) return "from the clock, since the time of the job is nearly up";
  if (origin == lost_head_sender) return "since launch --hosts has lost its connection to this host";
  if (origin <= 0) return {};
  const std::string name = read_file(fmt::format("/proc/{}/comm", origin), 64);
  return fmt::format("from pid {}{}", origin, name.empty() ? "" : fmt::format(" ({})", trim(name)));
}

}  // namespace launch

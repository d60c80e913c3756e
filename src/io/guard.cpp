#include "launch/io/guard.hpp"

#include "launch/core/job.hpp"
#include "launch/io/cgroup.hpp"
#include "launch/io/child.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"
#include "launch/io/process_look.hpp"
#include "launch/io/reaper.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <new>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

// What SIGKILL cannot end within this sleeps in the kernel, and does not hold us up.
constexpr Duration most_sweeping = 5s;
constexpr timespec between_sweeps{0, 2'000'000};
// Between the agent's last word and its end; longer, and a thread of it sleeps in the kernel.
constexpr Duration longest_leaving = 2s;

// The exit code that the agent has announced, in memory of both processes; negative: none yet.
std::atomic<int>* announced = nullptr;

class Guard {
 public:
  Guard(pid_t agent, std::set<pid_t> strangers, const SignalPlan& plan)
      : agent_(agent),
        strangers_(std::move(strangers)),
        signals_(all_signals(plan)),
        stops_(std::find(plan.passed.begin(), plan.passed.end(), SIGTSTP) != plan.passed.end()) {}

  int watch() {
    while (true) {
      siginfo_t info{};
      const int signal = ::sigwaitinfo(&signals_, &info);
      if (signal == SIGCHLD && (reap() || leaves())) return sweep();
      if (signal > 0 && signal != SIGCHLD) pass_on(signal, info.si_code == SI_KERNEL ? terminal_sender : info.si_pid);
    }
  }

 private:
  // A stopped job is one whose workers are stopped; the shell waits for us to stop too. The agent goes on: its peers
  // hear that it lives.
  void pass_on(int signal, pid_t sender) const {
    hand_on(agent_, signal, sender);
    if (signal == SIGTSTP && stops_) ::raise(SIGSTOP);
  }

  // Whatever has ended; true when the agent has.
  bool reap() {
    while (true) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) return ended_.has_value();
      strangers_.erase(info.si_pid);
      if (info.si_pid != agent_) continue;
      ended_ = exit_status_of(info);
    }
  }

  // The agent has said its last word. A file system that does not answer may keep it from ending for ever, not us.
  bool leaves() {
    const int code = announced == nullptr ? -1 : announced->load();
    if (code < 0) return false;
    const Time give_up = later(now(), longest_leaving);
    while (!reap() && now() < give_up) {
      const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(give_up - now()).count();
      const timespec wait{left / 1'000'000'000, left % 1'000'000'000};
      ::sigtimedwait(&signals_, nullptr, &wait);
    }
    if (!ended_) {
      ended_ = ExitStatus{ExitStatus::Kind::exited, code};
      strangers_.insert(agent_);  // it cannot be killed, either
    }
    return true;
  }

  // What has come to us from the agent. It can be in no session of ours, since the agent has left it.
  std::vector<pid_t> orphans() const {
    std::vector<pid_t> result;
    for (const pid_t child : list_children())
      if (!strangers_.contains(child) && ::getsid(child) != ::getsid(0)) result.push_back(child);
    return result;
  }

  int sweep() {
    const Time give_up = later(now(), most_sweeping);
    const bool killed_agent = ended_->kind == ExitStatus::Kind::signalled;
    if (killed_agent) end_cgroups_of(agent_);
    std::set<pid_t> killed;
    std::vector<pid_t> left = orphans();
    while (!left.empty() && now() < give_up) {
      for (const pid_t pid : left) ::kill(pid, SIGKILL);
      killed.insert(left.begin(), left.end());
      ::sigtimedwait(&signals_, nullptr, &between_sweeps);
      reap();
      left = orphans();
    }
    if (killed_agent) end_cgroups_of(agent_);  // empty by now, so removed
    if (killed_agent)
      log_error(fmt::format("the agent of this launch (pid {}) was ended by {}; killed {} that it left", agent_,
                            to_text(*ended_),
                            killed.size() == 1 ? "1 process" : fmt::format("{} processes", killed.size())));
    if (!left.empty()) log_error("these processes outlived SIGKILL: " + describe_processes(left));
    return exit_code(*ended_);
  }

  pid_t agent_;
  std::set<pid_t> strangers_;
  sigset_t signals_;
  bool stops_;  // at SIGTSTP, which ends nothing
  std::optional<ExitStatus> ended_;
};

void become_agent(pid_t guard) {
  ::setsid();
  ::prctl(PR_SET_NAME, "launch-agent");
  ::prctl(PR_SET_PDEATHSIG, guard_gone_signal());
  if (::getppid() != guard) ::raise(guard_gone_signal());  // it was gone before
}

}  // namespace

void hand_on(pid_t to, int signal, pid_t origin) {
  sigval value{};
  value.sival_int = origin;
  if (::sigqueue(to, signal, value) != 0) ::kill(to, signal);  // the queue may be full
}

int guard_gone_signal() { return SIGRTMAX; }

void announce_end(pid_t guard, int code) {
  if (guard == 0 || announced == nullptr) return;
  announced->store(code);
  ::kill(guard, SIGCHLD);
}

Guarded stand_guard(SignalPlan& signals) {
  sigset_t gone;
  sigemptyset(&gone);
  sigaddset(&gone, guard_gone_signal());
  ::sigprocmask(SIG_BLOCK, &gone, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::vector<pid_t> before = list_children();
  void* const shared = ::mmap(nullptr, sizeof *announced, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) announced = new (shared) std::atomic<int>(-1);
  const pid_t guard = ::getpid();
  const pid_t agent = ::fork();
  if (agent < 0) {
    log_warning("no process could be made to guard this one: if it is killed, children of workers may stay behind");
    return {};
  }
  if (agent > 0) return {Guard(agent, {before.begin(), before.end()}, signals).watch(), 0};
  signals.handled.push_back(guard_gone_signal());
  become_agent(guard);
  return {std::nullopt, guard};
}

}  // namespace launch

#include "launch/io/guard.hpp"

#include "launch/core/agent/guard_watch.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/job/job.hpp"
#include "launch/io/cgroup.hpp"
#include "launch/io/child.hpp"
#include "launch/io/clock.hpp"
#include "launch/io/log.hpp"
#include "launch/io/process_look.hpp"
#include "launch/io/reaper.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

namespace launch {
namespace {

using namespace std::chrono_literals;

// A process that SIGKILL cannot end within this time sleeps in the kernel, and must not hold us up.
constexpr Duration most_sweeping = 5s;
constexpr timespec between_sweeps{0, 2'000'000};
// Between the agent's last word and its end. If it takes longer, one of its threads sleeps in the kernel.
constexpr Duration longest_leaving = 2s;

constexpr Duration longest_killing = 5s;  // of the workers of an agent that stalls
constexpr timespec between_rounds{0, 20'000'000};

// In memory that both processes share; nullptr: there is none.
LifeSign* life = nullptr;

// The modes of the terminal on standard input, as they were at the start. A worker that reads there with a debugger or
// readline may be killed before it has put them back. A shell puts them back only for a job that died of a signal.
class TerminalModes {
 public:
  TerminalModes() : known_(is_ours() && ::tcgetattr(STDIN_FILENO, &before_) == 0) {}

  void restore() const {
    termios current{};
    if (!known_ || !is_ours() || ::tcgetattr(STDIN_FILENO, &current) != 0) return;
    const bool same = current.c_iflag == before_.c_iflag && current.c_oflag == before_.c_oflag &&
                      current.c_cflag == before_.c_cflag && current.c_lflag == before_.c_lflag &&
                      std::equal(std::begin(current.c_cc), std::end(current.c_cc), std::begin(before_.c_cc));
    if (!same) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

 private:
  // In the background, the modes belong to the shell's own line or to another job.
  static bool is_ours() { return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); }

  termios before_{};
  bool known_;
};

// True when SIGTSTP would stop a program in our process group. If the group is orphaned, as under `ssh -t HOST launch`
// or in a container, nobody could continue the program, and the kernel drops the signal. A child process tries what the
// kernel does.
bool can_be_stopped() {
  if (::getpid() == 1) return false;
  const pid_t probe = ::fork();
  if (probe == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
    ::raise(SIGTSTP);
    ::_exit(0);
  }
  if (probe < 0) return false;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(probe), &info, WSTOPPED | WEXITED) != 0 || info.si_code != CLD_STOPPED)
    return false;
  ::kill(probe, SIGKILL);
  ::waitid(P_PID, static_cast<id_t>(probe), &info, WEXITED);
  return true;
}

// The kernel is the sender if the user pressed a key, and for an alarm that was set before launch was started.
pid_t sender_of(const siginfo_t& info) {
  if (info.si_code == SI_QUEUE && info.si_int == lost_head_sender) return lost_head_sender;
  if (info.si_code != SI_KERNEL) return info.si_pid;
  return info.si_signo == SIGALRM ? 0 : terminal_sender;
}

class Guard {
 public:
  Guard(pid_t agent, std::set<pid_t> strangers, const SignalPlan& plan)
      : agent_(agent),
        strangers_(std::move(strangers)),
        signals_(all_signals(plan)),
        ending_(plan.ending),
        stops_(std::find(plan.passed.begin(), plan.passed.end(), SIGTSTP) != plan.passed.end()) {}

  int watch() {
    while (true) {
      siginfo_t info{};
      const int signal = wait_for_signal(info);
      if (signal == SIGCHLD) note_strangers();
      if (signal == SIGCHLD && (reap() || leaves())) return end();
      if (signal > 0 && signal != SIGCHLD) pass_on(signal, sender_of(info));
      switch (life == nullptr ? GuardWatch::Act::nothing : watch_.look(life->read(), now())) {
        case GuardWatch::Act::nothing:
          break;
        case GuardWatch::Act::end_workers:
          end_workers();
          break;
        case GuardWatch::Act::end_all:
          return end_all();
      }
    }
  }

 private:
  int wait_for_signal(siginfo_t& info) const {
    const Time until = watch_.deadline();
    if (until == never) return ::sigwaitinfo(&signals_, &info);
    return wait_for_signal(info, until);
  }

  int wait_for_signal(siginfo_t& info, Time until) const {
    const auto left = std::max(until - now(), Duration::zero()).count();
    const timespec wait{left / 1'000'000'000, left % 1'000'000'000};
    return ::sigtimedwait(&signals_, &info, &wait);
  }

  // If a job is stopped, its workers are stopped, and the shell waits for us to stop, too. The agent goes on, so that
  // its peers hear that it lives. A process that sends SIGTSTP can also continue us, so only the key is checked.
  void pass_on(int signal, pid_t sender) {
    if (signal == SIGTSTP && stops_ && sender == terminal_sender && !can_be_stopped()) return;
    if (std::find(ending_.begin(), ending_.end(), signal) != ending_.end()) {
      last_end_ = signal;
      const SignalWay way = sender == terminal_sender ? SignalWay::terminal : SignalWay::guard;
      if (life != nullptr) watch_.handed_on(signal, way, life->hand_on(), now());
    }
    hand_on(agent_, signal, sender);
    if (signal == SIGTSTP && stops_) ::raise(SIGSTOP);
  }

  // The agent is the nearer subreaper of all that descends from the workers. So a process that comes to us while the
  // agent lives is not of the job: for instance a daemon of a script that started it beside us. Only a sweep needs to
  // know.
  void note_strangers() {
    if (life != nullptr && life->end()) return;  // it has said its last word, so there will be no sweep
    std::vector<pid_t> children = list_children();
    std::erase_if(children, [this](pid_t pid) { return pid == agent_ || strangers_.contains(pid); });
    if (children.empty()) return;
    // The agent's state is read after the list, because an agent that ends leaves its children to us. waitid() would
    // not do: children come to us when the thread that started them ends, but the agent can be waited for only when its
    // last thread has ended. If the agent cannot be looked at, nobody is taken for a stranger.
    const auto agent = stat_of(agent_);
    if (!agent || agent->ending) return;
    strangers_.insert(children.begin(), children.end());
  }

  // Reaps whatever has ended; true when the agent has.
  bool reap() {
    while (true) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) return ended_.has_value();
      strangers_.erase(info.si_pid);
      if (info.si_pid != agent_) continue;
      ended_ = exit_status_of(info);
    }
  }

  // True when the agent has said its last word. A file system that does not answer may keep it from ending for ever,
  // but not us.
  bool leaves() {
    const auto code = life == nullptr ? std::nullopt : life->end();
    if (!code) return false;
    siginfo_t ignored{};
    const Time give_up = later(now(), longest_leaving);
    while (!reap() && now() < give_up) wait_for_signal(ignored, give_up);
    if (!ended_) ended_ = ExitStatus{ExitStatus::Kind::exited, *code};
    return true;
  }

  // The living workers of an agent that stalls. They stay its children, so it may still list dead ones, which are left
  // out.
  std::vector<pid_t> workers() const {
    std::vector<pid_t> result = descendants_of(agent_);
    std::erase_if(result, [](pid_t pid) {
      const auto stat = stat_of(pid);
      return !stat || stat->state == 'Z' || stat->state == 'X';
    });
    return result;
  }

  // One round of ending them: they may be making others meanwhile. If the agent still stalls after they were found,
  // none of them is a worker that it starts when it wakes.
  void end_workers() {
    const AgentSign before = life->read();
    const std::vector<pid_t> found = workers();
    if (life->read().turned != before.turned) return;
    const bool first = before.turned != stall_.turned;
    if (first) {
      stall_ = before;
      killing_until_ = later(now(), longest_killing);
      life->tell_stall(now() - before.turned);
      kill_cgroups_of(agent_);
    }
    for (const pid_t pid : found) ::kill(pid, SIGKILL);
    if (found.empty() || now() >= killing_until_) watch_.workers_ended();
    if (first && !found.empty())
      log_error(
          fmt::format("the agent of this launch (pid {}) has been frozen for {}, so the other nodes go on without this "
                      "one: ending its workers",
                      agent_, to_text(std::chrono::round<std::chrono::milliseconds>(now() - before.turned))));
  }

  // The user has asked three times to stop, and the agent does not react.
  int end_all() {
    const std::vector<pid_t> found = workers();
    ::kill(agent_, SIGKILL);
    for (const pid_t pid : found) ::kill(pid, SIGKILL);
    log_error(fmt::format(
        "told to stop three times, but the agent of this launch (pid {}) does not answer: killing it and its workers",
        agent_));
    const Time give_up = later(now(), longest_leaving);
    while (!reap() && now() < give_up) {
      kill_cgroups_of(agent_);
      for (const pid_t pid : workers()) ::kill(pid, SIGKILL);
      ::sigtimedwait(&signals_, nullptr, &between_rounds);
    }
    if (ended_) {
      sweep();
    } else {
      log_error("these processes outlived SIGKILL: " + describe_processes({agent_}));
    }
    terminal_.restore();
    return 128 + last_end_;
  }

  // Processes that have come to us from the agent. They cannot be in our session, because the agent has left it.
  std::vector<pid_t> orphans() const {
    std::vector<pid_t> result;
    for (const pid_t child : list_children())
      if (!strangers_.contains(child) && ::getsid(child) != ::getsid(0)) result.push_back(child);
    return result;
  }

  // An agent that has said its last word has ended all that descends from the workers, and has named what it could not
  // end.
  int end() {
    if (life == nullptr || !life->end()) sweep();
    terminal_.restore();
    return exit_code(*ended_);
  }

  void sweep() {
    const Time give_up = later(now(), most_sweeping);
    const bool killed_agent = ended_->kind == ExitStatus::Kind::signalled;
    if (killed_agent) end_cgroups_of(agent_);
    std::set<pid_t> killed;
    std::vector<pid_t> left = orphans();
    while (!left.empty() && now() < give_up) {
      for (const pid_t pid : left)
        if (::kill(pid, SIGKILL) == 0) killed.insert(pid);
      ::sigtimedwait(&signals_, nullptr, &between_sweeps);
      reap();
      left = orphans();
    }
    if (killed_agent) end_cgroups_of(agent_);  // empty by now, so removed
    // The agent may have left a line of progress there, without an end of line.
    if (killed_agent && ::isatty(STDERR_FILENO) == 1) write_bare("");
    if (killed_agent)
      log_error(fmt::format("the agent of this launch (pid {}) was ended by {}; {}", agent_, to_text(*ended_),
                            killed.empty()
                                ? "no process was left"
                                : fmt::format("killed {} that it left", counted(killed.size(), "process", "es"))));
    if (!left.empty()) log_error("these processes outlived SIGKILL: " + describe_processes(left));
  }

  pid_t agent_;
  std::set<pid_t> strangers_;
  sigset_t signals_;
  std::vector<int> ending_;  // those of signals_ that must end the job
  int last_end_ = SIGTERM;
  GuardWatch watch_;
  AgentSign stall_;  // the sign for which the workers were ended last
  Time killing_until_ = never;
  bool stops_;  // at SIGTSTP, if that does not end the job
  std::optional<ExitStatus> ended_;
  TerminalModes terminal_;
};

void become_agent(pid_t guard) {
  ::setsid();
  ::prctl(PR_SET_NAME, agent_name);  // `pkill launch` must not kill both, or nobody is left to clean up
  ::prctl(PR_SET_PDEATHSIG, guard_gone_signal());
  if (::getppid() != guard) ::raise(guard_gone_signal());  // the guard was gone before
}

// Otherwise what was freed before the fork would stay in the guard's memory as long as the job runs.
void give_back_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

void hand_on(pid_t to, int signal, pid_t origin) {
  sigval value{};
  value.sival_int = origin;
  if (::sigqueue(to, signal, value) != 0) ::kill(to, signal);  // the queue may be full
}

int guard_gone_signal() { return SIGRTMAX; }

LifeSign* life_sign() { return life; }

void call_guard(pid_t guard) { ::kill(guard, SIGCHLD); }

void announce_end(pid_t guard, int code) {
  if (guard == 0 || life == nullptr) return;
  life->say_end(code);
  call_guard(guard);
}

Guarded stand_guard(SignalPlan& signals) {
  sigset_t gone;
  sigemptyset(&gone);
  sigaddset(&gone, guard_gone_signal());
  ::sigprocmask(SIG_BLOCK, &gone, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::vector<pid_t> before = list_children();
  life = LifeSign::make();
  const pid_t guard = ::getpid();
  const pid_t agent = ::fork();
  if (agent < 0) {
    life = nullptr;
    log_warning("cannot create a process to guard this one: if it is killed, children of workers may stay behind");
    return {};
  }
  if (agent > 0) {
    give_back_memory();
    return {Guard(agent, {before.begin(), before.end()}, signals).watch(), 0};
  }
  signals.handled.push_back(guard_gone_signal());
  become_agent(guard);
  return {std::nullopt, guard};
}

}  // namespace launch

#include "launch/io/reaper.hpp"

#include "launch/io/fd.hpp"
#include "launch/io/process_look.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace launch {
namespace {

// A process that is stopped, by a debugger's user or by itself, would get the signal only when it is continued.
void tell(pid_t whom, int signal) {
  ::kill(whom, signal);
  if (signal != SIGKILL) ::kill(whom, SIGCONT);
}

// For places without /proc: waitid() recognises a child of ours by its pid. Children are younger than their parent, so
// the pids after our own are tried first, until some have been found.
std::vector<pid_t> ask_for_children() {
  constexpr pid_t numbers = 1 << 22;  // the kernel has no greater pid
  constexpr pid_t at_once = 1 << 16;
  std::vector<pid_t> result;
  for (pid_t asked = 0; asked < numbers && result.empty(); asked += at_once) {
    for (pid_t next = 1; next <= at_once; ++next) {
      const pid_t pid = (::getpid() + asked + next) % numbers;
      siginfo_t info{};
      if (pid > 0 && ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        result.push_back(pid);
    }
  }
  return result;
}

}  // namespace

std::vector<pid_t> list_children() {
  siginfo_t info{};
  // Most often there is none, and the kernel says so without /proc. A kernel older than 4.7 does not know __WALL here.
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 && errno == ECHILD) return {};
  std::vector<pid_t> children = adopted_by(::getpid());
  if (children.empty()) children = children_of(::getpid());
  if (!children.empty()) return children;
  // There is no /proc, or no descriptor to read it with; or a thread has waited for the last one meanwhile.
  const bool some = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
  return some || errno != ECHILD ? ask_for_children() : children;
}

Reaper::Reaper() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const pid_t pid : list_children()) strangers_.insert(pid);
}

void Reaper::add_worker(pid_t pid) {
  workers_.insert(pid);
  strangers_.erase(pid);  // one whose number this was
  if (stopped_) ::kill(-pid, SIGSTOP);
  const auto heard = signalled_.extract(pid);
  if (last_signal_ != 0 && (heard.empty() || heard.mapped() != last_signal_)) tell(-pid, last_signal_);
}

void Reaper::begin() {
  last_signal_ = 0;
  signalled_.clear();
}

void Reaper::forget_worker(pid_t pid) {
  workers_.erase(pid);
  const bool told = last_signal_ != 0;
  if (told || ::kill(-pid, 0) != 0) return;
  for (const pid_t child : remaining())
    if (!workers_.contains(child) && ::getsid(child) == pid) tell(-::getpgid(child), SIGTERM);
}

void Reaper::pass_on(int signal) {
  stopped_ = signal == SIGTSTP || (stopped_ && signal != SIGCONT);
  const bool to_leader = signal == SIGUSR1 || signal == SIGUSR2;
  for (const pid_t worker : workers_) ::kill(to_leader ? worker : -worker, signal == SIGTSTP ? SIGSTOP : signal);
}

void Reaper::warn(int signal) const {
  for (const pid_t worker : workers_) ::kill(worker, signal);
}

void Reaper::signal_all(int signal) {
  last_signal_ = signal;
  signalled_.clear();
  // A worker's pid cannot be another process's, because the worker is not reaped yet.
  for (const pid_t worker : workers_) tell(-worker, signal);
  signal_adopted();
}

bool Reaper::signal_one(pid_t pid, int signal) const {
  if (workers_.contains(pid)) return ::kill(pid, signal) == 0;  // it is not reaped yet
  // The descriptor stays with this process, so its pid cannot come to mean another one while we look.
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const bool refused = !process.valid() && (errno == EPERM || errno == ENOSYS);
  if (!(process.valid() || refused) || !is_of_the_job(pid)) return false;
  // Some containers refuse these calls. Then the process would have to end just now, and its pid be reused at once.
  if (!refused && ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0) return true;
  return (refused || errno == EPERM || errno == ENOSYS) && ::kill(pid, signal) == 0;
}

void Reaper::signal_group(pid_t worker, int signal) const {
  if (workers_.contains(worker)) tell(-worker, signal);
}

bool Reaper::is_of_the_job(pid_t pid) const {
  while (pid > 1) {
    const auto stat = stat_of(pid);
    if (!stat) return false;
    if (stat->parent == ::getpid()) return !strangers_.contains(pid);
    pid = stat->parent;
  }
  return false;
}

std::vector<pid_t> Reaper::remaining() const {
  std::vector<pid_t> result(workers_.begin(), workers_.end());
  for (const pid_t pid : workers_.empty() ? list_children() : adopted_by(::getpid()))
    if (!strangers_.contains(pid) && !workers_.contains(pid)) result.push_back(pid);
  return result;
}

void Reaper::signal_adopted() {
  for (const pid_t pid : remaining()) {
    if (workers_.contains(pid)) continue;
    // A shell starts background processes with SIGINT ignored. When no worker is left that such a helper could serve,
    // it gets a signal that it does not ignore.
    const bool deaf = workers_.empty() && last_signal_ != SIGKILL && ignores(pid, last_signal_);
    const int signal = deaf ? SIGTERM : last_signal_;
    if (std::exchange(signalled_[pid], signal) == signal) continue;
    // An adopted process keeps its group's number in use, so it is safe to signal the group, which may hold its
    // children.
    const pid_t group = ::getpgid(pid);
    tell(group > 0 && group != ::getpgrp() ? -group : pid, signal);
  }
}

// False if there is no child at all. Stops at a worker that has ended: its pidfd tells the Child that waits for it.
bool Reaper::reap_adopted() {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != ECHILD;
    if (info.si_pid == 0 || workers_.contains(info.si_pid)) return true;
    ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
    strangers_.erase(info.si_pid);
    signalled_.erase(info.si_pid);
  }
}

bool Reaper::collect() {
  if (!reap_adopted()) return true;
  // While workers run there is nothing to prove, and to list all children at each of 500 ends would be quadratic.
  if (!workers_.empty()) return false;
  if (last_signal_ != 0) signal_adopted();
  return remaining().empty();
}

}  // namespace launch

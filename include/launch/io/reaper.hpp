// Finds, signals and reaps everything that descends from the workers, and proves that it is gone.
//
// The agent is a child subreaper: when a worker ends, what it leaves behind becomes our own child, whatever session or
// process group it is in. So "no child left" means that nothing of the job is left. Processes that were our children
// before the first worker (those of a shell that became launch by exec) are strangers and stay untouched.
#pragma once

#include <map>
#include <set>
#include <vector>

#include <sys/types.h>

namespace launch {

class Reaper {
 public:
  // Makes this process a child subreaper.
  Reaper();

  // Must be called before new workers are made: what appears from now on gets no earlier signal.
  void begin();

  // A child that is not of the job: it stays untouched, and nobody waits for its end. Once its end was waited for by
  // whoever has made it, its number may be another one's.
  void disregard(pid_t pid) { strangers_.insert(pid); }
  void forget_stranger(pid_t pid) { strangers_.erase(pid); }

  // A worker leads the process group and the session whose number is its pid. If the job is stopped, the new worker is
  // stopped, too. A signal that was sent to all while the worker was being made is sent to it now.
  void add_worker(pid_t pid);
  // The worker has been reaped. What is left of its group and session is told to end.
  void forget_worker(pid_t pid);

  // Sends `signal` to every worker's group and to all adopted processes, and continues those that are stopped. Until
  // another signal is sent, processes that turn up later get it, too. A process that ignores it and outlives all
  // workers gets SIGTERM instead.
  void signal_all(int signal);

  // Passes on a signal that is only for the workers: SIGUSR1 and SIGUSR2 to the workers themselves, others to their
  // groups. SIGTSTP becomes SIGSTOP, because a group without a shell does not stop at SIGTSTP. It applies to later
  // workers, too, until SIGCONT.
  void pass_on(int signal);

  // Sends to one process, which must be a worker or descend from one; false if it does not, or is gone.
  bool signal_one(pid_t pid, int signal) const;

  // Sends to all of the process group of one worker.
  void signal_group(pid_t worker, int signal) const;

  // Sends to the workers themselves, not to their groups: a signal that makes a worker save would kill its helpers.
  void warn(int signal) const;

  // To be called after SIGCHLD and after a worker was reaped: reaps adopted processes that ended, passes the last
  // signal on to new ones. True when nothing is left.
  bool collect();

  // The pids of what is left, for a last message.
  std::vector<pid_t> remaining() const;

 private:
  bool is_of_the_job(pid_t pid) const;
  bool reap_adopted();
  void signal_adopted();

  std::set<pid_t> strangers_;
  std::set<pid_t> workers_;
  std::map<pid_t, int> signalled_;  // adopted processes, and the signal that each got since signal_all()
  int last_signal_ = 0;
  bool stopped_ = false;  // by SIGTSTP
};

// The direct children of this process: those of its first thread, which adopts; if it has none, those of the others.
std::vector<pid_t> list_children();

}  // namespace launch

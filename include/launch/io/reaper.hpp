// Everything that descends from the workers: found, signalled, reaped, and proved gone.
//
// The agent is a child subreaper: when a worker ends, what it leaves behind becomes our own child, whatever session or
// process group it is in. So "no child left" means that nothing of the job is left. Processes that were our children
// before the first worker (an exec'ing shell's) are strangers and stay untouched.
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

  // Before new workers: what comes from now on gets no signal of before.
  void begin();

  // A worker leads the group and session of its own pid. While the job is stopped, so is the new worker; what was sent
  // to all while it was made is sent to it now.
  void add_worker(pid_t pid);
  // The worker has been reaped. What is left of its group and session is told to end.
  void forget_worker(pid_t pid);

  // Sends `signal` to every worker's group and to whatever was adopted, now and, until another signal is sent, to what
  // turns up later; and continues what is stopped. What ignores it and outlives all workers gets SIGTERM instead.
  void signal_all(int signal);

  // For the workers, and of no other meaning: SIGUSR1 and SIGUSR2 to the workers themselves, others to their groups.
  // SIGTSTP becomes SIGSTOP: a group without a shell does not stop at it. It counts for workers of later, too, until
  // SIGCONT.
  void pass_on(int signal);

  // To one process, which must descend from the workers or be one; false where it does not, or is gone.
  bool signal_one(pid_t pid, int signal) const;

  // To the workers themselves, not to their groups: helpers would die of what makes a worker save.
  void warn(int signal) const;

  // To be called after SIGCHLD and after a worker was reaped: reaps adopted processes that ended, passes the last
  // signal on to new ones. True when nothing is left.
  bool collect();

  // pids of what is left, for a last message.
  std::vector<pid_t> remaining() const;

 private:
  bool is_of_the_job(pid_t pid) const;
  bool reap_adopted();
  void signal_adopted();

  std::set<pid_t> strangers_;
  std::set<pid_t> workers_;
  std::map<pid_t, int> signalled_;  // adopted processes, and what they were told since the last signal
  int last_signal_ = 0;
  bool stopped_ = false;  // by SIGTSTP
};

// Direct children of this process: of its first thread, which adopts; if that has none, of the others.
std::vector<pid_t> list_children();

}  // namespace launch

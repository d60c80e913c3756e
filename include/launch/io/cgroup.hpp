// A control group of their own for the workers and all that descends from them, so that SIGKILL reaches every one at
// the same instant: nobody can have a child meanwhile that is missed.
//
// Only where version 2 is mounted and our own group's folder may be written; elsewhere nothing happens, and the reaper
// does the work alone, as it does for what a worker has moved to other groups. No controller is turned on, so nothing
// is limited or counted anew. Processes are made in the group (io/spawn): moving one there would cost milliseconds.
#pragma once

#include "launch/io/fd.hpp"

#include <string>

#include <sys/types.h>

namespace launch {

class WorkerCgroup {
 public:
  // Makes it below the group of this process, after it has ended those of launches that are gone.
  WorkerCgroup();
  // Makes it in this folder.
  explicit WorkerCgroup(const std::string& parent);
  // Makes another one beside that of the round before, if there was one.
  explicit WorkerCgroup(const WorkerCgroup* before);
  WorkerCgroup(const WorkerCgroup&) = delete;
  WorkerCgroup& operator=(const WorkerCgroup&) = delete;
  ~WorkerCgroup();

  // For io/spawn; -1 where there is none.
  int descriptor() const { return fd_.get(); }
  const std::string& folder() const { return folder_; }

  // SIGKILL to all in it.
  void end_all();
  // end_all() has killed somebody. What is started in such a group later may die at once (Linux 6.18).
  bool killed() const { return killed_; }
  bool empty() const;

 private:
  void make(const std::string& parent, const std::string& prefix);

  std::string folder_;  // empty: none
  Fd fd_;
  bool killed_ = false;
};

// SIGKILL to all in groups that the launch `pid` of this namespace, which lives, has made below ours.
void kill_cgroups_of(pid_t pid);

// SIGKILL to all in groups that the launch `pid` of this namespace has made below ours, or below `parent`, and has not
// removed; removes those that are empty by now.
void end_cgroups_of(pid_t pid);
void end_cgroups_of(pid_t pid, const std::string& parent);

}  // namespace launch

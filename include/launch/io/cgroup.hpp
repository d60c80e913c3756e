// A separate control group for the workers and all that descends from them, so that SIGKILL reaches all of them at the
// same instant: no process can make a child meanwhile that is missed.
//
// It works only if version 2 is mounted and the folder of our own group may be written. Otherwise nothing happens, and
// the reaper does the work alone, as it does for processes that a worker has moved to other groups. No controller is
// turned on, so nothing more is limited or counted. Processes are made in the group (io/spawn), because moving one
// there would cost milliseconds.
#pragma once

#include "launch/io/fd.hpp"

#include <optional>
#include <string>

#include <sys/types.h>

namespace launch {

class WorkerCgroup {
 public:
  // Makes a group below that of this process, after it has ended the groups of launches that are dead.
  WorkerCgroup();
  // The same in the folder `parent`.
  explicit WorkerCgroup(const std::string& parent);
  // Makes another group beside the one of the round before, if there was one.
  explicit WorkerCgroup(const WorkerCgroup* before);
  WorkerCgroup(const WorkerCgroup&) = delete;
  WorkerCgroup& operator=(const WorkerCgroup&) = delete;
  ~WorkerCgroup();

  // For io/spawn; -1 if there is no group.
  int descriptor() const { return fd_.get(); }
  const std::string& folder() const { return folder_; }

  // Sends SIGKILL to all processes in the group.
  void end_all();
  // end_all() has killed a process. What is started later in such a group may die at once (Linux 6.18).
  bool killed() const { return killed_; }
  bool empty() const;

 private:
  void make(const std::string& parent, const std::string& prefix);

  std::string folder_;  // empty: none
  Fd fd_;
  bool killed_ = false;
};

// Why no such group can be made here, without trying; nullopt: nothing is known against it.
std::optional<std::string> reason_against_group();

// Sends SIGKILL to all processes in the groups that the living launch `pid` of this namespace has made below ours.
void kill_cgroups_of(pid_t pid);

// Sends SIGKILL to all processes in the groups that the launch `pid` of this namespace has made below ours, or below
// `parent`, and has not removed. Removes the groups that are empty by then.
void end_cgroups_of(pid_t pid);
void end_cgroups_of(pid_t pid, const std::string& parent);

}  // namespace launch

// The one place that starts a program.
//
// The child shares our memory until it executes, as with posix_spawn. So starting costs the same however large we are,
// and why a child could not start is read from a struct, not guessed. The child leads its own session, dies with the
// thread that spawned it, has an empty signal mask and no descriptor above 2.
#pragma once

#include "launch/core/base/error.hpp"
#include "launch/io/cpu_binding.hpp"
#include "launch/io/fd.hpp"
#include "launch/io/stream_slots.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

namespace launch {

struct SpawnRequest {
  std::string executable;  // a path; PATH is not searched
  std::vector<std::string> argv;
  std::vector<std::string> env;    // NAME=VALUE
  std::string script;              // a file that the executable will read; empty: none. Checked first
  std::vector<int> reset_signals;  // to be set to their default
  rlimit open_files{};             // RLIMIT_NOFILE to be restored; left alone when rlim_max is 0
  std::optional<CpuBinding> binding;
  int in = -1;                         // what becomes the standard input; -1: ours
  int out = -1;                        // what becomes the standard output; -1: ours
  int err = -1;                        // the same for errors
  std::shared_ptr<StreamSlots> slots;  // through which these three go, one spawn at a time; null: there are none
  int cgroup = -1;  // folder of the control group that it starts in, if the kernel can do that; -1: ours
};

struct Spawned {
  pid_t pid = 0;
  Fd pidfd;  // not valid if the kernel has none, as Linux before 5.3
};

// What the child was doing when it failed.
enum class SpawnStage {
  script,   // the script cannot be read
  clone,    // making the process
  tie,      // the parent-death signal: the parent was already gone
  session,  // setsid
  limits,   // restoring the limit of open files
  binding,  // to processors
  streams,  // putting its input and output in place
  execute,  // execve
};

struct SpawnError {
  SpawnStage stage = SpawnStage::clone;
  int error = 0;  // errno
};

boost::system::result<Spawned, SpawnError> spawn(const SpawnRequest& request);

// Ends one that is not wanted after all, with its process group, and waits for its end.
void take_back(const Spawned& spawned);

// One sentence that says what failed, why, and what to do; and the exit code that a shell gives: 127 if the file is
// missing, 126 otherwise.
std::string explain(const SpawnError& error, const SpawnRequest& request);
int exit_code(const SpawnError& error);

}  // namespace launch

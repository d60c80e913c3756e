// Two processes instead of one, so that the end of neither leaves anything behind.
//
// The guard is the process that the user started. The agent is its child, in a session of its own, and does all the
// work. The guard passes signals on, and ends with the agent's exit code. If the agent was killed or has crashed, the
// guard kills everything that descends from it; both are child subreapers, so these processes become the guard's
// children. If the guard is killed, the agent gets guard_gone_signal() and kills its workers. Something is left only if
// both are killed at the same time. If the agent stalls, the guard ends its workers (core/guard_watch). Before the
// guard leaves, it puts back the modes of its terminal.
#pragma once

#include "launch/io/life_sign.hpp"
#include "launch/io/signals.hpp"

#include <optional>

#include <sys/types.h>

namespace launch {

inline constexpr const char* agent_name = "job-agent";  // name of the agent's process

struct Guarded {
  std::optional<int> exit_code;  // in the guard, at the end
  pid_t guard = 0;               // in the agent; 0: no process could be made, so there is no guard
};

// Must be called after choose_signals(), before any thread exists. Returns in both processes. Processes that were
// children before, and those that the guard adopts while the agent lives, are strangers and stay untouched.
Guarded stand_guard(SignalPlan& signals);

int guard_gone_signal();

// In the agent; nullptr: nobody watches it.
LifeSign* life_sign();
// Makes the guard look at the life sign now.
void call_guard(pid_t guard);

// The agent calls it last of all. It lets the guard leave with this code, even if a thread of the agent sleeps in the
// kernel, for a file system that does not answer, and keeps the agent from ending.
void announce_end(pid_t guard, int code);

// Passes on a signal that `origin` has sent; the receiver's SignalStream reports that origin.
void hand_on(pid_t to, int signal, pid_t origin);

}  // namespace launch

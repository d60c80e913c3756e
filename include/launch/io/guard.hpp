// Two processes in place of one, so that the end of neither leaves anything behind.
//
// The guard is the process that the user started. The agent is its child, in a session of its own, and does all the
// work. The guard passes signals on, ends with the agent's exit code, and, when the agent was killed or has crashed,
// kills whatever descends from it: both are child subreapers, so that falls to the guard. When the guard is killed, the
// agent gets guard_gone_signal() and kills its workers. Only both at one time would leave something. Of an agent that
// stands still the guard ends the workers (core/guard_watch). Before it leaves, it puts back the modes of its terminal.
#pragma once

#include "launch/io/life_sign.hpp"
#include "launch/io/signals.hpp"

#include <optional>

#include <sys/types.h>

namespace launch {

inline constexpr const char* agent_name = "job-agent";  // of its process

struct Guarded {
  std::optional<int> exit_code;  // in the guard, at the end
  pid_t guard = 0;               // in the agent; 0: there is none, since no process could be made
};

// To be called with signals chosen, before there is any thread. Returns in both processes. Processes that were children
// before, and those that come to the guard while the agent lives, are strangers and stay untouched.
Guarded stand_guard(SignalPlan& signals);

int guard_gone_signal();

// In the agent; nullptr: nobody watches it.
LifeSign* life_sign();
// The guard is to look at it now.
void call_guard(pid_t guard);

// In the agent, last of all: lets the guard leave with this code, though a thread that sleeps in the kernel, for a file
// system that does not answer, may keep the agent from ending.
void announce_end(pid_t guard, int code);

// Passes on a signal that `origin` had sent; SignalStream tells who that was.
void hand_on(pid_t to, int signal, pid_t origin);

}  // namespace launch

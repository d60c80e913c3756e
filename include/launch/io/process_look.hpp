// Looks at processes through /proc, for the messages that name them. Nothing here waits: what a stuck process holds
// locked (its memory, so its command line) is not read. What cannot be seen is left out. It signals nobody, and nothing
// here is cached beyond what the kernel can do.
#pragma once

#include "launch/core/host/process_stat.hpp"

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace launch {

// nullopt: gone, or hidden from us.
std::optional<ProcessStat> stat_of(pid_t pid);

// nullopt: the same. A process of many threads of which one is stuck is shown as that one.
std::optional<ProcessLook> look_at(pid_t pid);
// The same without who keeps it from ending, unless it is stopped: at half the cost.
std::optional<ProcessLook> glance_at(pid_t pid);

std::vector<pid_t> children_of(pid_t parent);

// Of these those that its first thread has made or has been given, and perhaps the others. To look at a thread that
// ends at the same time as its process may cost whoever collects that one the time of a scheduler's tick (Linux 6.18:
// each waits for the other's entry under /proc/PID/task to go), so a process does not look at its own.
std::vector<pid_t> adopted_by(pid_t parent);

// Everything below `root`, parents before their children; at most some thousands.
std::vector<pid_t> descendants_of(pid_t root);

// True when the program is a Python interpreter, by the name of its file.
bool runs_python(pid_t pid);

// True when the process has a handler of its own for this signal.
bool catches(pid_t pid, int signal);
// True when the process ignores this signal.
bool ignores(pid_t pid, int signal);

// True when `fd` is the terminal of the process, which is in the background there.
bool is_in_background(pid_t pid, int fd);

// These and what descends from them, with what they do; and these by name only. See core/process_stat.
std::string describe_processes(const std::vector<pid_t>& pids);
std::string name_processes(const std::vector<pid_t>& pids);

}  // namespace launch

// Looks at processes through /proc, for the messages that name them. Nothing here waits: what a stuck process holds
// locked (its memory, and so its command line) is not read. What cannot be seen is left out. It signals nobody, and
// caches nothing except what the kernel can do.
#pragma once

#include "launch/core/host/process_stat.hpp"

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace launch {

// nullopt: the process is gone, or hidden from us.
std::optional<ProcessStat> stat_of(pid_t pid);

// nullopt: the same. If one of many threads is stuck, the process is shown as that thread.
std::optional<ProcessLook> look_at(pid_t pid);
// The same at half the cost: without what keeps the process from ending, unless it is stopped.
std::optional<ProcessLook> glance_at(pid_t pid);

std::vector<pid_t> children_of(pid_t parent);

// Of these children, those that the first thread of `parent` has made or adopted, and perhaps the others. A process
// does not look at its own other threads: a look at a thread that ends at the same time as its process may delay the
// one that reaps this process by a scheduler's tick (Linux 6.18: each waits for the other's entry under /proc/PID/task
// to go).
std::vector<pid_t> adopted_by(pid_t parent);

// All descendants of `root`, parents before their children; at most some thousands.
std::vector<pid_t> descendants_of(pid_t root);

// True when the program is a Python interpreter, by the name of its file.
bool runs_python(pid_t pid);

// True when the process has a handler of its own for this signal.
bool catches(pid_t pid, int signal);
// True when the process ignores this signal.
bool ignores(pid_t pid, int signal);

// True when `fd` is the terminal of the process and the process is in the background there.
bool is_in_background(pid_t pid, int fd);

// The processes and their descendants, with what they do; name_processes(): the processes by name only. See
// core/process_stat.
std::string describe_processes(const std::vector<pid_t>& pids);
std::string name_processes(const std::vector<pid_t>& pids);

}  // namespace launch

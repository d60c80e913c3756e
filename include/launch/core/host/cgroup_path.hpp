// Where the control group of this process is among the files, and what the kernel says there, version 2 only.
//
// Beside core/memory_events, which wants the hierarchy that counts memory: a machine may have that in version 1, and
// version 2 beside it, where processes can be ended at one blow.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace launch {

// The group's folder by /proc/self/cgroup and /proc/self/mountinfo; nullopt: it has none, or none that is mounted here.
std::optional<std::string> cgroup_folder(std::string_view proc_cgroup, std::string_view mountinfo);

// What the names of all groups begin with that the launch `pid` makes. The same pid in another namespace of pids is
// somebody else, whose groups may be in the same folder.
std::string cgroup_prefix(unsigned long pid_namespace, pid_t pid);

// The launch of this namespace that has made a group of this name; nullopt: none has.
std::optional<pid_t> cgroup_maker(std::string_view name, unsigned long pid_namespace);

// By cgroup.events; where nothing can be read there may be somebody.
bool is_populated(std::string_view events);

}  // namespace launch

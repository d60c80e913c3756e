// Where the control group of this process is in the file system, and what the kernel says there, version 2 only.
//
// core/memory_events is separate, since it needs the hierarchy that counts memory. A machine may have that in version
// 1, and beside it version 2, in which all processes of a group can be killed at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace launch {

// The group's folder, from /proc/self/cgroup and /proc/self/mountinfo; nullopt: it has none, or none mounted here.
std::optional<std::string> cgroup_folder(std::string_view proc_cgroup, std::string_view mountinfo);

// The beginning of the names of all groups that the launch `pid` makes. The same pid in another pid namespace is
// another process, whose groups may be in the same folder.
std::string cgroup_prefix(unsigned long pid_namespace, pid_t pid);

// The launch of this namespace that has made a group of this name; nullopt: none has.
std::optional<pid_t> cgroup_maker(std::string_view name, unsigned long pid_namespace);

// From cgroup.events; true if that cannot be read, since there may be processes.
bool is_populated(std::string_view events);

}  // namespace launch

// What /proc says about a process, as values and in the words of a message.
//
// A process that SIGKILL does not end is in an uninterruptible sleep in the kernel: it waits for a network disk that
// does not answer, or in a driver. An administrator must know which process it is, and where it sleeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace launch {

struct ProcessStat {
  std::string name;  // may hold anything, blanks and brackets too
  char state = '?';
  pid_t parent = 0;
  pid_t session = 0;
  pid_t group = 0;
  // The session's terminal: its number as in TIOCGDEV, and the process group that may read from it. 0 if there is none.
  unsigned terminal = 0;
  pid_t foreground_group = 0;
  // Its first thread has ended or is about to. Its children may then belong to another parent, although its other
  // threads still run and its own parent has not learned of an end.
  bool ending = false;
  std::uint64_t cpu_ticks = 0;       // of all processors, in user and kernel mode
  std::uint64_t resident_pages = 0;  // of memory, shared ones too
  std::uint64_t faults = 0;          // pages of memory that it got or that were read for it
};

// From the text of /proc/PID/stat; nullopt: it is something else.
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// What matters here of /proc/PID/status.
struct ProcessStatus {
  pid_t tracer = 0;
  unsigned real_uid = 0;
  unsigned saved_uid = 0;
};

// nullopt: it is something else.
std::optional<ProcessStatus> parse_process_status(std::string_view text);

struct ProcessLook {
  pid_t pid = 0;
  std::string name;  // empty: nothing is known but the pid
  char state = '?';
  std::string wait_channel;  // the kernel function that it sleeps in; empty: none, or we may not know it
  std::string kernel_stack;  // as in /proc/PID/stack; empty: we may not know it
  pid_t tracer = 0;          // the debugger that holds it; 0: there is none
  std::optional<unsigned> protected_by_uid = {};  // it runs as this user, and we may not signal it
};

// Stopped, or in a sleep that no signal ends; false if it only waits in vfork for its own child to begin.
bool stands_still(const ProcessLook& look);
// It is in exit(), as far as that may be known.
bool is_exiting(const ProcessLook& look);

// "pid 12 (python), uninterruptible sleep (D) in nfs_wait_bit_killable".
std::string to_text(const ProcessLook& look);
// The part of that text after the name.
std::string activity(const ProcessLook& look);

constexpr std::size_t most_named = 20;  // processes that a message names

// These of `total` processes, in full or by name only: "pid 12 (python), 13 (sh) and 7 more".
std::string describe_all(const std::vector<ProcessLook>& looks, std::size_t total);
std::string name_all(const std::vector<ProcessLook>& looks, std::size_t total);

}  // namespace launch

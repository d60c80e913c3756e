// What /proc tells of a process, as text and as a message says it.
//
// A process that SIGKILL does not end sleeps in the kernel, uninterruptibly: for a network disk that does not answer,
// or in a driver. Which process, and where, is what an administrator has to know.
#pragma once

#include <cstddef>
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
  // Of the session's terminal: its number as TIOCGDEV has it, and who may read from it. 0 where there is none.
  unsigned terminal = 0;
  pid_t foreground_group = 0;
  // Its first thread has ended or is about to. Its children may have left it, though others of its threads still run
  // and its parent hears of no end.
  bool ending = false;
};

// The text of /proc/PID/stat; nullopt: it is none.
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// What matters here of /proc/PID/status.
struct ProcessStatus {
  pid_t tracer = 0;
  unsigned real_uid = 0;
  unsigned saved_uid = 0;
};

// nullopt: it is none.
std::optional<ProcessStatus> parse_process_status(std::string_view text);

struct ProcessLook {
  pid_t pid = 0;
  std::string name;  // empty: nothing is known but the pid
  char state = '?';
  std::string wait_channel;  // the kernel's function that it sleeps in; empty: none, or not ours to know
  std::string kernel_stack;  // as /proc/PID/stack has it; empty: not ours to know
  pid_t tracer = 0;  // the debugger that holds it; 0: there is none
  std::optional<unsigned> protected_by_uid = {};  // it runs as this user, and we may not signal it
};

// Stopped, or in a sleep that no signal ends; but not who only waits in vfork for its own child to begin.
bool stands_still(const ProcessLook& look);

// "pid 12 (python), uninterruptible sleep (D) in nfs_wait_bit_killable".
std::string to_text(const ProcessLook& look);
// Of these words those behind the name.
std::string activity(const ProcessLook& look);

constexpr std::size_t most_named = 20;  // processes that a message names

// Of `total` processes these, in whole or by name only: "pid 12 (python), 13 (sh) and 7 more".
std::string describe_all(const std::vector<ProcessLook>& looks, std::size_t total);
std::string name_all(const std::vector<ProcessLook>& looks, std::size_t total);

}  // namespace launch

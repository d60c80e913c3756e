#include "launch/core/job/job.hpp"

#include <algorithm>
#include <array>
#include <csignal>

#include <fmt/format.h>

namespace launch {
namespace {

// Linux's, from 1 on, as on all machines but MIPS, Alpha and SPARC. Only new C libraries can tell them.
constexpr std::array<std::string_view, 31> signal_names = {
    "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1", "SEGV",
    "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN", "TTOU",
    "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
static_assert(SIGBUS == 7 && SIGCHLD == 17 && SIGSYS == 31);

}  // namespace

int exit_code(const ExitStatus& status) {
  return status.kind == ExitStatus::Kind::signalled ? 128 + status.value : status.value;
}

std::string to_text(const ExitStatus& status) {
  if (status.kind == ExitStatus::Kind::exited) return fmt::format("exit code {}", status.value);
  return fmt::format("signal {} ({})", status.value, signal_name(status.value));
}

std::string_view cause_in_words(const ExitStatus& status) {
  if (status.kind == ExitStatus::Kind::exited) return {};
  switch (status.value) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGABRT:
      return "it aborted itself";
    case SIGBUS:
      return "bus error: memory whose file is gone or cut off, often a full /dev/shm";
    case SIGFPE:
      return "arithmetic error, as division by zero";
    case SIGILL:
      return "an illegal instruction: built for another CPU, damaged code, or a trap of its own";
    case SIGSYS:
      return "a forbidden system call (seccomp)";
    case SIGPIPE:
      return "it wrote to a pipe that nobody reads any more";
    case SIGXCPU:
      return "it used up its CPU time";
    case SIGXFSZ:
      return "a file grew beyond the limit";
    case SIGKILL:
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT:
      return "not sent by launch (but by a scheduler, another process or a user)";
    default:
      return {};
  }
}

std::string signal_name(int signal) {
  if (signal < 1 || signal > static_cast<int>(signal_names.size())) return fmt::format("signal {}", signal);
  return fmt::format("SIG{}", signal_names.at(static_cast<std::size_t>(signal) - 1));
}

std::optional<int> signal_number(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  const auto* const found = std::find(signal_names.begin(), signal_names.end(), name);
  if (found == signal_names.end()) return std::nullopt;
  return static_cast<int>(found - signal_names.begin()) + 1;
}

}  // namespace launch

#include "launch/core/job/job.hpp"

#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace launch {

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
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::optional<int> signal_number(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* abbreviation = sigabbrev_np(signal);
    if (abbreviation != nullptr && name == abbreviation) return signal;
  }
  return std::nullopt;
}

}  // namespace launch

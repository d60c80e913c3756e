#include "launch/core/job.hpp"

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

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace launch

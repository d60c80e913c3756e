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

std::optional<int> signal_number(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* abbreviation = sigabbrev_np(signal);
    if (abbreviation != nullptr && name == abbreviation) return signal;
  }
  return std::nullopt;
}

}  // namespace launch

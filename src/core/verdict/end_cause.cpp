#include "launch/core/verdict/end_cause.hpp"

#include <fmt/format.h>

namespace launch {

std::string to_text(const EndCause& cause, const ExitStatus& status) {
  if (cause.expired_timer) return fmt::format(", because its watchdog timer '{}' expired", *cause.expired_timer);
  if (cause.warned) return ", the early warning that launch passed on";
  if (cause.passed_on) return ", which launch received and passed on";
  if (cause.out_of_memory) return ", " + cause.memory;
  const std::string_view of_status = cause_in_words(status);
  std::string text = of_status.empty() ? "" : fmt::format(", {}", of_status);
  // A shell turns the end of its child into an exit code of its own, and a worker may die because it lost a helper.
  if (!cause.memory.empty()) text += "; " + cause.memory;
  return text;
}

}  // namespace launch

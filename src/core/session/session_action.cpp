#include "launch/core/session/session_action.hpp"

#include <fmt/format.h>

namespace launch {

static_assert(std::variant_size_v<Question> == std::variant_size_v<AnswerValue>, "each question has its answer");

std::string to_text(const AnswerValue& answer) {
  if (const auto* opened = std::get_if<Opened>(&answer)) {
    if (!opened->status) return opened->status.error().message;
    return fmt::format("connected to the store at {} as {}", to_text(opened->peer), opened->own_address);
  }
  const auto* listening = std::get_if<Listening>(&answer);
  if (listening == nullptr) return {};
  return listening->status ? fmt::format("this node hosts a store at port {}", listening->port)
                           : listening->status.error().message;
}

}  // namespace launch

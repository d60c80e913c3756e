#include "launch/core/session/session_action.hpp"

namespace launch {

static_assert(std::variant_size_v<Question> == std::variant_size_v<AnswerValue>, "each question has its answer");

}  // namespace launch

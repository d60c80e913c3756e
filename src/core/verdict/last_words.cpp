#include "launch/core/verdict/last_words.hpp"

#include "launch/core/verdict/traceback.hpp"

#include <cstddef>

namespace launch {
namespace {

constexpr std::size_t most_traceback_lines = 8;

}  // namespace

void add_words(Failure& failure, const LastWords& words) {
  failure.detail = error_message(words.error_json);
  const bool said = !failure.detail.empty();
  if (said) failure.error_file = words.error_file;
  const std::string text = said ? error_traceback(words.error_json) : words.errors;
  if (const auto traceback = last_traceback(text, most_traceback_lines)) {
    failure.frames = traceback->frames;
    if (!said) failure.detail = traceback->error;
  }
  failure.log_file = words.log_file;
}

}  // namespace launch

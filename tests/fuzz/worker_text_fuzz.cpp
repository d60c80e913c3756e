// Whatever a worker or a tool prints becomes lines of bounded length that are safe to show on a terminal.
#include "launch/core/verdict/stack_text.hpp"
#include "launch/core/verdict/traceback.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

void expect_safe(const std::string& line) {
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  if (line.size() > 300 || std::any_of(line.begin(), line.end(), is_control)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace launch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t most_lines = size % 8;
  if (const auto traceback = last_traceback(text, most_lines)) {
    if (traceback->error.empty() || traceback->frames.size() > most_lines) std::abort();
    expect_safe(traceback->error);
    if (traceback->causes.size() > 6 || traceback->members.size() > 8) std::abort();
    for (const auto* lines : {&traceback->frames, &traceback->causes, &traceback->members})
      for (const std::string& line : *lines) expect_safe(line);
  }
  const std::vector<std::string> stack = main_stack(text);
  if (stack.size() > 256) std::abort();
  for (const std::string& frame : stack) expect_safe(frame);
  const std::string where = stack_summary(stack);
  if (!stack.empty() && std::find(stack.begin(), stack.end(), where) == stack.end()) std::abort();
  return 0;
}

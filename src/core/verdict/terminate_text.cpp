#include "launch/core/verdict/terminate_text.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <cstddef>

namespace launch {
namespace {

constexpr std::string_view of_libstdcxx = "terminate called after throwing an instance of '";
constexpr std::string_view before_text = "  what():  ";
constexpr std::string_view of_libcxx = "uncaught exception of type ";
constexpr std::size_t longest_text_of_exception = 300;
constexpr std::size_t most_lines_after = 200;  // PyTorch's exceptions have their stack behind them

std::string_view line_at(std::string_view text, std::size_t position) {
  const std::string_view rest = text.substr(position);
  return rest.substr(0, rest.find('\n'));
}

std::string_view line_after(std::string_view text, std::size_t position) {
  const std::size_t end = text.find('\n', position);
  return end == text.npos ? std::string_view() : line_at(text, end + 1);
}

// Other workers or threads may write in between, so the text is looked for in the next few lines.
std::string_view text_of_exception(std::string_view text, std::size_t position) {
  for (int lines = 0; lines < 4 && position != text.npos; ++lines) {
    const std::string_view line = line_after(text, position);
    if (const std::size_t at = line.find(before_text); at != line.npos) return line.substr(at + before_text.size());
    position = text.find('\n', position + 1);
  }
  return {};
}

}  // namespace

std::optional<std::string> terminate_text(std::string_view text) {
  std::string found;
  std::size_t at = text.rfind(of_libstdcxx);
  if (at != text.npos) {
    const std::string_view rest = line_at(text, at + of_libstdcxx.size());
    found = std::string(rest.substr(0, rest.find('\'')));
    if (const std::string_view said = text_of_exception(text, at); !said.empty()) found += ": " + std::string(said);
  } else if (at = text.rfind(of_libcxx); at != text.npos) {
    found = std::string(line_at(text, at + of_libcxx.size()));
  }
  if (found.empty()) return std::nullopt;
  const auto after =
      static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), '\n'));
  if (after > most_lines_after) return std::nullopt;
  return without_controls(without_colors(found), longest_text_of_exception);
}

}  // namespace launch

#include "launch/core/base/template_text.hpp"

namespace launch {
namespace {

bool is_identifier_char(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// How many bytes of `text`, which begins after a '$', refer to `name`; 0 if they do not.
std::size_t reference_size(std::string_view text, std::string_view name) {
  const bool braced = text.starts_with('{');
  const std::size_t begin = braced ? 1 : 0;
  if (!text.substr(begin).starts_with(name)) return 0;
  const std::size_t end = begin + name.size();
  if (braced) return end < text.size() && text[end] == '}' ? end + 1 : 0;
  return end == text.size() || !is_identifier_char(text[end]) ? end : 0;
}

}  // namespace

std::string substitute(std::string_view text, const TemplateValues& values) {
  std::string result;
  for (auto dollar = text.find('$'); dollar != std::string_view::npos; dollar = text.find('$')) {
    result += text.substr(0, dollar);
    text.remove_prefix(dollar + 1);
    std::size_t size = 0;
    for (const auto& [name, value] : values) {
      size = reference_size(text, name);
      if (size == 0) continue;
      result += value;
      break;
    }
    if (size == 0) {
      result += '$';
      size = text.starts_with('$') ? 1 : 0;
    }
    text.remove_prefix(size);
  }
  return result += text;
}

}  // namespace launch

#include "launch/core/hosts/body_texts.hpp"

#include "launch/core/base/base64.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/hosts/host_messages.hpp"

#include <utility>

namespace launch::body_texts {

std::optional<std::string> read_text(const JsonValue& value, std::size_t longest) {
  auto text = value.text(longest);
  if (text || !value.is_object()) return text;
  const auto coded = value["b64"].text();
  text = coded ? decode_base64(*coded) : std::nullopt;
  return text && text->size() <= longest ? text : std::nullopt;
}

// What the kernel takes as an argument, a variable or a path.
std::optional<std::string> read_word(const JsonValue& value, std::size_t longest) {
  auto text = read_text(value, longest);
  return text && text->find('\0') == std::string::npos ? text : std::nullopt;
}

std::optional<std::vector<std::string>> read_words(const JsonValue& value, std::size_t most) {
  const auto items = value.list();
  if (!items) return std::nullopt;
  Needed need;
  std::vector<std::string> words;
  for (const JsonValue& item : *items) words.push_back(need(read_word(item, most)));
  return need.met() && counted_size(words) <= most ? std::optional(std::move(words)) : std::nullopt;
}

// For people, or to be compared; cut if longer.
std::optional<std::string> read_line(const JsonValue& value, std::size_t longest) {
  const auto text = read_text(value, JsonValue::any_length);
  return text ? std::optional(without_controls(*text, longest)) : std::nullopt;
}

std::optional<std::vector<std::string>> read_lines(const JsonValue& value, std::size_t longest) {
  const auto items = value.list();
  if (!items || items->size() > most_reach_targets) return std::nullopt;
  Needed need;
  std::vector<std::string> lines;
  for (const JsonValue& item : *items) lines.push_back(need(read_line(item, longest)));
  return need.met() ? std::optional(std::move(lines)) : std::nullopt;
}

}  // namespace launch::body_texts

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::string_view white_space = " \t\n\r\f\v";
constexpr std::size_t max_shown_bytes = 120;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// from_chars does not accept a plus sign; "+-1" must not become -1.
std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (is_control(c)) {
      result += fmt::format("\\x{:02x}", c);
    } else {
      result += c;
    }
  }
  return result;
}

// The end of the escape sequence that begins at `at`.
std::size_t end_of_escape(std::string_view text, std::size_t at) {
  if (++at == text.size()) return at;
  const char kind = text[at++];
  if (kind != '[' && kind != ']') return at;
  for (; at < text.size(); ++at) {
    if (kind == '[' && text[at] >= '@' && text[at] <= '~') return at + 1;
    if (kind == ']' && text[at] == '\a') return at + 1;
    if (kind == ']' && text[at] == '\x1b') return std::min(at + 2, text.size());
  }
  return at;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (auto at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

std::optional<int> parse_int(std::string_view text) {
  text = without_plus(trim(text));
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (fault == std::errc::result_out_of_range) {
    return text[0] == '-' ? std::numeric_limits<int>::min() : std::numeric_limits<int>::max();
  }
  return value;
}

std::optional<double> parse_decimal(std::string_view text) {
  text = without_plus(trim(text));
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<bool> parse_bool(std::string_view text) {
  if (const auto number = parse_int(text)) return *number != 0;
  std::string word(trim(text));
  std::transform(word.begin(), word.end(), word.begin(), lower);
  if (word == "true" || word == "yes") return true;
  if (word == "false" || word == "no") return false;
  return std::nullopt;
}

std::string shown(std::string_view text) {
  const bool whole = text.size() <= max_shown_bytes;
  std::string result = escaped(text.substr(0, max_shown_bytes)) + (whole ? "" : "...");
  if (text.empty() || text.find_first_of(white_space) != std::string_view::npos) return '"' + result + '"';
  return result;
}

std::string counted(std::int64_t count, std::string_view noun, std::string_view ending) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : ending);
}

// Bytes that are not UTF-8 are cut exactly at `most`.
std::string_view beginning_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  for (std::size_t at = most; at > 0 && most - at < 4; --at)
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) return text.substr(0, at);
  return text.substr(0, most);
}

std::string first_clauses(std::string_view line, std::size_t columns) {
  constexpr std::string_view more = "...";
  if (line.size() <= columns) return std::string(line);
  if (columns <= more.size()) return std::string(line.substr(0, columns));
  const auto end = line.substr(0, columns + 2).rfind("; ");
  if (end == std::string_view::npos) return std::string(beginning_of(line, columns - more.size())).append(more);
  std::string whole(line.substr(0, end));
  if (end + 2 + more.size() <= columns) whole.append("; ").append(more);
  return whole;
}

std::string_view first_lines(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  auto end = text.substr(0, most).rfind('\n');
  if (end == std::string_view::npos) end = text.find('\n', most);
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

std::string for_shell(std::string_view word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  const bool escapes = std::any_of(word.begin(), word.end(), is_control);
  std::string result = escapes ? "$'" : "'";
  for (const char c : word) {
    if (is_control(c)) {
      result += fmt::format("\\{:03o}", c);
    } else if (c == '\'') {
      result += escapes ? "\\'" : "'\\''";
    } else {
      result += c == '\\' && escapes ? "\\\\" : std::string(1, c);
    }
  }
  return result + "'";
}

std::string for_shell(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + for_shell(word);
  return line;
}

std::string without_controls(std::string_view text, std::size_t most) {
  std::string result(beginning_of(text, most));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto byte = static_cast<unsigned char>(result[i]);
    // C1 controls are C2 80 to C2 9F in UTF-8.
    const bool after_c2 = i > 0 && result[i - 1] == '\xC2' && byte >= 0x80 && byte <= 0x9f;
    if (byte < 0x20 || byte == 0x7f || after_c2) result[i] = ' ';
    if (after_c2) result[i - 1] = ' ';
  }
  return result;
}

std::string without_colors(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t escape = std::min(text.find('\x1b', at), text.size());
    result += text.substr(at, escape - at);
    at = escape == text.size() ? escape : end_of_escape(text, escape);
  }
  return result;
}

std::string as_typed(std::string_view origin, std::string_view value) {
  return fmt::format("{}{}{}", origin, origin.starts_with('-') ? ' ' : '=', shown(value));
}

}  // namespace launch

#include "launch/core/hosts/host_word.hpp"

#include "launch/core/base/text.hpp"
#include "launch/core/cluster/host_list.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t most_name_bytes = 255;
constexpr int most_groups = 8;  // of brackets; each makes all names once more
constexpr std::string_view digits_of_word = "0123456789";
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool has_only_digits(std::string_view text) { return text.find_first_not_of(digits_of_word) == std::string_view::npos; }

bool is_name_byte(char c) {
  return digits_of_word.find(c) != std::string_view::npos || letters.find(c) != std::string_view::npos || c == '.' ||
         c == '_' || c == '-';
}

bool has_only_name_bytes(std::string_view text) { return std::all_of(text.begin(), text.end(), is_name_byte); }

// "[0-9a-f:.]" and a scope, as in fe80::1%eth0. What the numbers mean is ssh's business.
bool is_address(std::string_view text) {
  const auto percent = text.find('%');
  const std::string_view number = text.substr(0, percent);
  if (percent != std::string_view::npos) {
    const std::string_view scope = text.substr(percent + 1);
    if (scope.empty() || !has_only_name_bytes(scope)) return false;
  }
  return text.size() <= most_name_bytes && std::count(number.begin(), number.end(), ':') >= 2 &&
         number.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

bool begins_with_address(std::string_view word) {
  return word.starts_with('[') && word.substr(0, word.find(']')).find(':') != std::string_view::npos;
}

// Slurm's boxes of systems with several dimensions, "bgl[000x133]".
bool has_box(std::string_view text) {
  for (auto at = text.find('x'); at != std::string_view::npos; at = text.find('x', at + 1)) {
    const auto open = text.rfind('[', at);
    if (open != std::string_view::npos && at > open + 1 && has_only_digits(text.substr(open + 1, at - open - 1)))
      return true;
  }
  return false;
}

Error no_name(std::string_view text, std::string_view why) {
  return usage_error(fmt::format("{} is not a host name{}", shown(text), why));
}

// What the grammar of lists would say in words that are not about this word, or would let pass.
Status check_pattern(std::string_view text) {
  const bool bracket = text.find('[') != std::string_view::npos;
  if (text.empty()) return usage_error("a host has an empty name; name hosts as in n1 or n[1-8]");
  if (text.starts_with('-')) return no_name(text, ": it begins with \"-\", and ssh would take it for an option");
  if (bracket && text.find_first_of(" \t\r\n") != std::string_view::npos)
    return usage_error(
        fmt::format("{} has a blank after its [; write ranges without blanks and close them with ], "
                    "as in n[1-3,08]",
                    shown(text)));
  if (has_box(text))
    return usage_error(
        fmt::format("{} has a box of several dimensions (x), which launch does not read; write it as "
                    "ranges, as in n[0-1][0-3]",
                    shown(text)));
  if (std::count(text.begin(), text.end(), '[') > most_groups)
    return usage_error(
        fmt::format("{} has more than {} ranges in brackets; write it as several words", shown(text), most_groups));
  bool inside = false;
  for (const char c : text) {
    if (c == ',' && !inside)
      return usage_error(fmt::format("{} has a comma, where only one host or range may stand", shown(text)));
    if (c != ',' && c != '[' && c != ']' && !is_name_byte(c))
      return no_name(text, R"(, which has only letters, digits, ".", "_" and "-")");
    inside = c == '[' || (inside && c != ']');
  }
  return {};
}

Result<std::vector<std::string>> read_address(std::string_view text) {
  const std::string_view address = text.substr(1, text.size() - 2);
  if (!text.ends_with(']') || !is_address(address))
    return usage_error(fmt::format("{} is not an IPv6 address in brackets, as [fe80::1] is", shown(text)));
  return std::vector<std::string>{std::string(address)};
}

Status read_count(HostWord& result, std::string_view tail, std::string_view word) {
  result.counted = true;
  if (tail == "*") return {};
  result.workers = parse_host_count(tail, most_host_workers);
  if (result.workers) return {};
  if (tail.find(':') != std::string_view::npos && !begins_with_address(word))
    return usage_error(
        fmt::format("{} has more than one colon; write an IPv6 address in brackets, as [fe80::1]", shown(word)));
  return usage_error(fmt::format("{} must have, after its colon, a number of workers from 1 to {}, or *", shown(word),
                                 most_host_workers));
}

}  // namespace

HostWordParts host_word_parts(std::string_view word) {
  std::size_t from = 0;
  if (begins_with_address(word)) from = std::min(word.find(']'), word.size());
  const auto colon = word.find(':', from);
  if (colon == std::string_view::npos) return {word, std::nullopt};
  return {word.substr(0, colon), word.substr(colon + 1)};
}

Result<std::vector<std::string>> parse_host_names(std::string_view text) {
  if (begins_with_address(text)) return read_address(text);
  if (const Status sound = check_pattern(text); !sound) return sound.error();
  auto names = parse_host_list(text);
  if (!names)
    return usage_error(
        fmt::format("{} cannot be read ({}); write ranges as in n[1-3,08]", shown(text), names.error().message));
  if (names->front().size() > most_name_bytes)
    return usage_error(
        fmt::format("{} is longer than a host name, which has {} bytes at most", shown(text), most_name_bytes));
  if (has_only_digits(names->front()))
    return no_name(text, " but a number, which ssh would take for an address; name hosts as in n[1-8]");
  return names;
}

Status check_host_user(std::string_view user) {
  if (user.empty()) return usage_error("the name of the user is empty");
  if (user.size() > most_name_bytes || user.starts_with('-') || !has_only_name_bytes(user))
    return usage_error(fmt::format(R"({} is not the name of a user, which has only letters, digits, ".", "_" and "-")"
                                   R"( and does not begin with "-")",
                                   shown(user)));
  return {};
}

std::optional<int> parse_host_count(std::string_view text, int most) {
  if (text.empty() || !has_only_digits(text)) return std::nullopt;
  const auto number = parse_int(text);
  if (!number || *number < 1 || *number > most) return std::nullopt;
  return number;
}

Result<HostWord> parse_host_word(std::string_view word) {
  HostWord result;
  std::string_view host = word;
  if (const auto at = word.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = word.substr(0, at);
    if (const Status sound = check_host_user(user); !sound)
      return usage_error(fmt::format("in {}, {}", shown(word), sound.error().message));
    result.user = user;
    host.remove_prefix(at + 1);
  }
  const HostWordParts parts = host_word_parts(host);
  if (parts.tail)
    if (const Status done = read_count(result, *parts.tail, host); !done) return done.error();
  auto names = parse_host_names(parts.names);
  if (!names) return names.error();
  result.names = std::move(*names);
  return result;
}

}  // namespace launch

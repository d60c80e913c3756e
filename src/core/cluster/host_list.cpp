#include "launch/core/cluster/host_list.hpp"

#include "launch/core/base/text.hpp"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr std::size_t most_hosts = 65'536;
constexpr std::size_t longest_name = 255;
constexpr std::size_t most_digits = 9;  // fit into an int

using Names = std::vector<std::string>;

Error wrong(std::string_view what, std::string_view where) {
  return usage_error(fmt::format("{} in {}", what, shown(where)));
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.size() <= most_digits && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "08-10" or "5": the numbers as they are written.
Result<Names> read_range(std::string_view text) {
  const auto dash = text.find('-');
  const std::string_view from = text.substr(0, dash);
  const std::string_view to = dash == std::string_view::npos ? from : text.substr(dash + 1);
  if (!is_digits(from) || !is_digits(to)) return wrong("no range of numbers", text);
  const int first = *parse_int(from);
  const int last = *parse_int(to);
  if (first > last) return wrong("a range that runs backwards", text);
  if (static_cast<std::size_t>(last - first) >= most_hosts) return wrong("too many hosts", text);
  Names numbers;
  for (int number = first; number <= last; ++number)
    numbers.push_back(fmt::format("{:0{}}", number, static_cast<int>(from.size())));
  return numbers;
}

// What is between brackets.
Result<Names> read_ranges(std::string_view text) {
  Names numbers;
  for (const std::string_view part : split(text, ',')) {
    auto range = read_range(part);
    if (!range) return range.error();
    numbers.insert(numbers.end(), range->begin(), range->end());
    if (numbers.size() > most_hosts) return wrong("too many hosts", text);
  }
  return numbers;
}

// Each of the names with each of the endings.
Status append_each(Names& names, const Names& endings) {
  if (names.size() * endings.size() > most_hosts) return wrong("too many hosts", names.front());
  Names all;
  for (const std::string& name : names)
    for (const std::string& ending : endings) {
      if (name.size() + ending.size() > longest_name) return wrong("a name that is too long", name);
      all.push_back(name + ending);
    }
  names = std::move(all);
  return {};
}

// One entry of the list: text and brackets by turns.
Result<Names> read_entry(std::string_view text) {
  Names names{""};
  for (std::string_view rest = text; !rest.empty();) {
    const auto open = rest.find('[');
    const std::string_view plain = rest.substr(0, open);
    if (plain.find(']') != std::string_view::npos) return wrong("a ] without its [", text);
    if (Status done = append_each(names, {std::string(plain)}); !done) return done.error();
    if (open == std::string_view::npos) break;
    const auto close = rest.find(']', open);
    if (close == std::string_view::npos) return wrong("a [ without its ]", text);
    auto numbers = read_ranges(rest.substr(open + 1, close - open - 1));
    if (!numbers) return numbers.error();
    if (Status done = append_each(names, *numbers); !done) return done.error();
    rest.remove_prefix(close + 1);
  }
  if (names.front().empty()) return wrong("an empty name", text);
  return names;
}

// The entry that the list begins with: up to the first comma outside of brackets.
std::string_view first_entry(std::string_view list) {
  bool inside = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == ',' && !inside) return list.substr(0, i);
    inside = list[i] == '[' || (inside && list[i] != ']');
  }
  return list;
}

}  // namespace

Result<std::vector<std::string>> parse_host_list(std::string_view text) {
  Names all;
  std::string_view rest = text;
  while (true) {
    const std::string_view entry = first_entry(rest);
    if (entry.find_first_of(" \t\r\n") != std::string_view::npos) return wrong("a blank", entry);
    auto names = read_entry(entry);
    if (!names) return names.error();
    if (all.size() + names->size() > most_hosts) return wrong("too many hosts", text);
    all.insert(all.end(), names->begin(), names->end());
    if (entry.size() == rest.size()) return all;
    rest.remove_prefix(entry.size() + 1);
  }
}

}  // namespace launch

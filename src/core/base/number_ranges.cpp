#include "launch/core/base/number_ranges.hpp"

#include "launch/core/base/text.hpp"

#include <cstddef>
#include <set>

#include <fmt/format.h>

namespace launch {
namespace {

constexpr int most_numbers = 1'000'000;

}  // namespace

std::string as_ranges(const std::vector<int>& ascending) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < ascending.size(); first = ++last) {
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ascending[first]);
    if (last > first) text += fmt::format("-{}", ascending[last]);
  }
  return text;
}

std::string ranges_in_words(std::string_view noun, const std::vector<int>& ascending, std::size_t longest) {
  std::string ranges = as_ranges(ascending);
  if (ranges.size() > longest) {
    ranges.resize(ranges.rfind(',', longest));
    ranges += ", ...";
  }
  return fmt::format("{}{} {}", noun, ascending.size() == 1 ? "" : "s", ranges);
}

std::vector<int> from_ranges(std::string_view text) {
  std::set<int> numbers;
  int budget = most_numbers;  // however often a number is repeated
  for (const std::string_view part : split(text, ',')) {
    const auto dash = part.find('-', 1);
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0) continue;
    for (int number = *first; number <= *last && number < most_numbers && budget-- > 0; ++number)
      numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

}  // namespace launch

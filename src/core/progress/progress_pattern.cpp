#include "launch/core/progress/progress_pattern.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace launch {
namespace {

struct ReadyMade {
  std::string_view name;
  std::array<const char*, 2> forms;  // the best one first; null: there is none
};

// tqdm's bar has "| 50/1000 [" or, if the end is not known, "50it [". Steps may be scaled: "1.20k/5.00k".
constexpr const char* bar = R"(\| *([0-9][0-9.]*[kMGT]?)/[0-9.?]+[kMGT]? \[)";
constexpr const char* endless_bar = R"((?:^|: )([0-9][0-9.]*[kMGT]?)[A-Za-z]+ \[[0-9:]+, )";

constexpr ReadyMade all_ready_made[] = {
    {"tqdm", {bar, endless_bar}},
    {"lightning", {R"(^Epoch [0-9]+:.*\| *([0-9]+)/[0-9?]+ \[)", R"(^Epoch [0-9]+: +([0-9]+)it \[)"}},
    {"hf", {bar, R"(^\{'.*'epoch': '?([0-9][0-9.]*))"}},
    {"megatron", {R"(^ *(?:\[[^\]]*\] *)?iteration +([0-9]+)/ *[0-9]+ \|)", nullptr}},
    {"nanogpt", {R"(^iter ([0-9]+): loss )", nullptr}},
};

constexpr auto grammar = std::regex::ECMAScript | std::regex::optimize
#ifdef __GLIBCXX__
                         | std::regex_constants::__polynomial
#endif
    ;

Error fault(const std::string& text, std::string_view what) {
  return usage_error(
      fmt::format("--progress {}: {}; expected a regular expression whose first group is the step, as in "
                  "'step ([0-9]+)', or one of {}",
                  shown(text), what, fmt::join(ProgressPattern::ready_made(), ", ")));
}

}  // namespace

std::vector<std::string_view> ProgressPattern::ready_made() {
  std::vector<std::string_view> names;
  for (const ReadyMade& one : all_ready_made) names.push_back(one.name);
  return names;
}

Result<ProgressPattern> ProgressPattern::compile(const std::string& text) {
  ProgressPattern pattern;
  try {
    for (const ReadyMade& one : all_ready_made)
      if (one.name == text)
        for (const char* form : one.forms)
          if (form != nullptr) pattern.forms_.emplace_back(form, grammar);
    if (pattern.forms_.empty()) pattern.forms_.emplace_back(text, grammar);
  } catch (const std::regex_error&) {
    return fault(text, "that is no regular expression that launch can use");
  }
  if (pattern.forms_.front().mark_count() == 0) return fault(text, "it has no group");
  return pattern;
}

std::optional<ProgressPattern::Found> ProgressPattern::find(std::string_view line) const {
  line = line.substr(0, longest);
  for (std::size_t form = 0; form < forms_.size(); ++form) {
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(line.begin(), line.end(), match, forms_[form]) || !match[1].matched) continue;
    const auto at = static_cast<std::size_t>(match.position(1));
    if (at + static_cast<std::size_t>(match.length(1)) == longest) continue;  // the number may go on
    const auto step = parse_step(line.substr(at, static_cast<std::size_t>(match.length(1))));
    if (step) return Found{*step, static_cast<int>(form)};
  }
  return std::nullopt;
}

std::optional<double> parse_step(std::string_view text) {
  constexpr std::string_view units = "kMGT";
  std::string digits;
  for (const char one : trim(text))
    if (one != ',' && one != '_') digits += one;
  double scale = 1;
  if (const auto unit = digits.empty() ? std::string_view::npos : units.find(digits.back());
      unit != std::string_view::npos) {
    scale = std::pow(1000.0, static_cast<double>(unit + 1));
    digits.pop_back();
  }
  const auto number = parse_decimal(digits);
  if (!number) return std::nullopt;
  return *number * scale;
}

}  // namespace launch

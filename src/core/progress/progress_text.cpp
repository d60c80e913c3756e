#include "launch/core/progress/progress_text.hpp"

#include "launch/core/base/arithmetic.hpp"
#include "launch/core/base/number_ranges.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace launch {

std::string number_text(double number) {
  const bool whole = std::floor(number) == number || std::abs(number) >= 9999.5;  // four digits are enough
  if (whole && std::abs(number) < 1e15) return fmt::format("{:.0f}", number);
  return fmt::format("{:.4g}", number);
}

std::string rate_text(double rate) {
  constexpr double smallest_short = 1e-4;  // of a smaller one, the short form has an exponent
  if (rate >= 99.5) return fmt::format("{:.0f}/s", rate);
  if (rate <= 0 || rate >= smallest_short) return fmt::format("{:.2g}/s", rate);
  std::string text = fmt::format("{:.{}f}", rate, std::min(1 - decimal_exponent(rate), 12));
  while (text.ends_with('0')) text.pop_back();
  return text.ends_with('.') ? "0/s" : text + "/s";
}

std::string step_text(double step, std::optional<double> rate) {
  return "step " + number_text(step) + (rate ? ", " + rate_text(*rate) : "");
}

namespace {

// By so much a worker that is as fast may seem to be behind. The first one must have come there since.
double made_between_looks(const RankStep& first) {
  if (!first.age_s || *first.age_s > looks_apart_s) return 0;
  return first.jump + first.rate.value_or(0) * looks_apart_s;
}

}  // namespace

std::string spread_text(const std::vector<RankStep>& steps) {
  if (steps.empty()) return "";
  const auto [least, most] = std::minmax_element(
      steps.begin(), steps.end(), [](const RankStep& one, const RankStep& other) { return one.step < other.step; });
  double explained = most->step - least->step;
  for (const RankStep& one : steps)
    if (one.step == most->step) explained = std::min(explained, made_between_looks(one));
  if (most->step - least->step <= explained) return "";
  std::vector<int> behind;
  for (const RankStep& one : steps)
    if (one.step == least->step) behind.push_back(one.rank);
  std::sort(behind.begin(), behind.end());
  return fmt::format("steps {} to {}; behind: {}", number_text(least->step), number_text(most->step),
                     ranges_in_words("rank", behind));
}

}  // namespace launch

#include "launch/core/progress/progress_text.hpp"

#include "launch/core/base/number_ranges.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace launch {

std::string number_text(double number) {
  if (std::floor(number) == number && std::abs(number) < 1e15) return fmt::format("{:.0f}", number);
  return fmt::format("{:.4g}", number);
}

std::string rate_text(double rate) {
  return rate >= 100 ? fmt::format("{:.0f}/s", rate) : fmt::format("{:.2g}/s", rate);
}

std::string step_text(double step, std::optional<double> rate) {
  return "step " + number_text(step) + (rate ? ", " + rate_text(*rate) : "");
}

std::string spread_text(const std::vector<RankStep>& steps) {
  if (steps.empty()) return "";
  const auto [least, most] = std::minmax_element(
      steps.begin(), steps.end(), [](const RankStep& one, const RankStep& other) { return one.step < other.step; });
  if (least->step == most->step) return "";
  std::vector<int> behind;
  for (const RankStep& one : steps)
    if (one.step == least->step) behind.push_back(one.rank);
  std::sort(behind.begin(), behind.end());
  return fmt::format("steps {} to {}; behind: {}", number_text(least->step), number_text(most->step),
                     ranges_in_words("rank", behind));
}

}  // namespace launch

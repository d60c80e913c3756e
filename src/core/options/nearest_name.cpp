#include "launch/core/options/nearest_name.hpp"

#include <algorithm>
#include <numeric>

namespace launch {
namespace {

// A longer text is not a typing error, and the limit keeps the search cheap.
constexpr std::size_t max_typed_bytes = 64;

std::string bare(std::string_view name) {
  std::string result(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

std::optional<std::string> only_completion(std::string_view typed, const std::vector<std::string>& known) {
  std::optional<std::string> found;
  for (const std::string& name : known) {
    if (!bare(name).starts_with(typed)) continue;
    if (found) return std::nullopt;
    found = name;
  }
  return found;
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view typed, const std::vector<std::string>& known) {
  const std::string wanted = bare(typed);
  if (wanted.size() < 2 || wanted.size() > max_typed_bytes) return std::nullopt;
  if (auto name = only_completion(wanted, known)) return name;
  std::optional<std::string> best;
  std::size_t best_distance = wanted.size() / 3 + 1;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(wanted, bare(name));
    if (distance >= best_distance) continue;
    best = name;
    best_distance = distance;
  }
  return best;
}

}  // namespace launch

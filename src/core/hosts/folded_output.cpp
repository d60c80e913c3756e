#include "launch/core/hosts/folded_output.hpp"

#include "launch/core/base/number_ranges.hpp"
#include "launch/core/host/binding.hpp"

#include <algorithm>
#include <cstddef>

namespace launch {
namespace {

constexpr int most_ranks = 1'000'000;
constexpr char mark_begins = '\x1e';
constexpr char mark_ends = '\x1f';

// "[0-3,7]:line"
void show(std::string_view line, const std::vector<int>& ranks, std::string& text) {
  text += '[';
  text += cpu_ranges(ranks);
  text += "]:";
  text += line;
  text += '\n';
}

// The ranks before a line, which are cut off. None: it has no mark.
std::vector<int> cut_mark(std::string_view& line) {
  if (!line.starts_with(mark_begins)) return {};
  const auto end = line.find(mark_ends);
  if (end == std::string_view::npos) return {};
  const std::string_view mark = line.substr(1, end - 1);
  if (mark.find_first_not_of("0123456789,-") != std::string_view::npos) return {};
  std::vector<int> ranks = from_ranges(mark);
  if (!ranks.empty()) line.remove_prefix(end + 1);
  return ranks;
}

}  // namespace

FoldedOutput::FoldedOutput(int ranks) : ranks_(std::clamp(ranks, 1, most_ranks)), fold_(ranks_, fold_window) {}

void FoldedOutput::take(std::string_view line, Time now, std::string& text) {
  const std::vector<int> ranks = cut_mark(line);
  if (ranks.empty()) {
    text += line;
    text += '\n';
    return;
  }
  // Of more workers than were announced.
  if (ranks.back() >= ranks_) return show(line, ranks, text);
  const auto give = [&text](std::string_view one, const std::vector<int>& who) { show(one, who, text); };
  for (const int rank : ranks) fold_.take(rank, line, now, give);
}

void FoldedOutput::give_due(Time now, std::string& text) {
  fold_.give_due(now, [&text](std::string_view one, const std::vector<int>& who) { show(one, who, text); });
}

void FoldedOutput::give_all(std::string& text) {
  fold_.give_all([&text](std::string_view one, const std::vector<int>& who) { show(one, who, text); });
}

}  // namespace launch

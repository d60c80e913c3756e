#include "launch/core/verdict/evidence_notes.hpp"

#include "launch/core/verdict/stack_text.hpp"

#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {

std::vector<RankGroup> grouped(const std::map<GlobalRank, std::string>& text_by_rank) {
  std::map<std::string, std::vector<int>> ranks_by_text;
  for (const auto& [rank, text] : text_by_rank) ranks_by_text[text].push_back(rank.value);
  std::vector<RankGroup> groups;
  groups.reserve(ranks_by_text.size());
  for (auto& [text, ranks] : ranks_by_text) groups.push_back({text, std::move(ranks)});
  return groups;
}

}  // namespace

void EvidenceNotes::add(GlobalRank rank, const ProcessLook& look, bool is_worker) {
  if (look.state == 'Z') return;
  text_ += fmt::format("rank {}: {}\n", rank.value, to_text(look));
  text_ += look.kernel_stack;
  if (is_worker) state_by_rank_[rank] = activity(look);
  if (is_worker && stands_still(look) && !is_exiting(look)) place_by_rank_[rank] = activity(look);
}

void EvidenceNotes::out_of_time(GlobalRank rank) {
  text_ += fmt::format("rank {} and higher ranks: not looked at, because the time was up\n", rank.value);
}

void EvidenceNotes::add_stack(GlobalRank rank, const std::string& dump) {
  text_ += fmt::format("\nrank {}, Python stacks:\n{}", rank.value, dump);
  std::vector<std::string> stack = main_stack(dump);
  const std::string place = stack_summary(stack);
  if (place.empty()) return;
  stacks_[rank] = std::move(stack);
  place_by_rank_[rank] = "in " + place;
  has_stacks_ = true;
}

std::vector<RankGroup> EvidenceNotes::states() const { return grouped(state_by_rank_); }

std::vector<RankGroup> EvidenceNotes::places() const { return grouped(place_by_rank_); }

}  // namespace launch

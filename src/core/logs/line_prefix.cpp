#include "launch/core/logs/line_prefix.hpp"

#include "launch/core/base/template_text.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/host/binding.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace launch {
namespace {
// No template and no fact can contain it, since neither a command line nor the environment can.
constexpr char time_mark = '\0';
constexpr int several = -1;
constexpr std::size_t most_together = 1000;

// Of the 16 that every terminal has: no black, white or grey, and no red, which looks like an error.
constexpr int colours[] = {36, 33, 35, 32, 34, 96, 93, 95, 92, 94};
constexpr int bold = 1;

// Columns: of a UTF-8 character only the first byte counts.
std::size_t columns(const std::vector<std::string>& pieces) {
  std::size_t count = 0;
  for (const std::string& piece : pieces)
    count += static_cast<std::size_t>(std::count_if(
        piece.begin(), piece.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return count;
}

void add_pieces(std::string& text, const std::vector<std::string>& pieces, std::string_view time) {
  text += pieces.front();
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    text += time;
    text += pieces[i];
  }
}

}  // namespace

LinePrefix::LinePrefix(PrefixStyle style, PrefixFacts facts, std::string stream)
    : style_(std::move(style)), facts_(std::move(facts)), stream_(std::move(stream)) {
  for (int rank = 0; rank < facts_.nproc; ++rank) {
    single_.push_back(make({rank}));
    width_ = std::max(width_, columns(single_.back()));
    timed_ = single_.back().size() > 1;
  }
  for (int rank = 0; rank < facts_.nproc; ++rank) {
    Pieces& pieces = single_[static_cast<std::size_t>(rank)];
    pieces = decorated(std::move(pieces), rank);
  }
}

LinePrefix::Pieces LinePrefix::make(const std::vector<int>& local_ranks) const {
  std::vector<int> ranks;
  for (const int local_rank : local_ranks) ranks.push_back(facts_.base_rank.value + local_rank);
  const std::string text = substitute(style_.pattern, {{"role_name", facts_.role},
                                                       {"local_rank", cpu_ranges(local_ranks)},
                                                       {"rank", cpu_ranges(ranks)},
                                                       {"node_rank", std::to_string(facts_.node_rank.value)},
                                                       {"hostname", facts_.host},
                                                       {"host", facts_.host},
                                                       {"stream", stream_},
                                                       {"restart", std::to_string(facts_.restarts)},
                                                       {"time", std::string(1, time_mark)}});
  Pieces pieces;
  for (const std::string_view piece : split(text, time_mark)) pieces.emplace_back(piece);
  return pieces;
}

LinePrefix::Pieces LinePrefix::decorated(Pieces pieces, int local_rank) const {
  if (style_.aligned) {
    const std::size_t own = columns(pieces);
    if (own < width_) pieces.back().append(width_ - own, ' ');
  }
  if (style_.coloured) {
    const auto rank = static_cast<std::size_t>(facts_.base_rank.value + std::max(local_rank, 0));
    const int colour = local_rank == several ? bold : colours[rank % std::size(colours)];
    pieces.front().insert(0, fmt::format("\x1b[{}m", colour));
    pieces.back() += "\x1b[0m";
  }
  return pieces;
}

void LinePrefix::add(std::string& text, int local_rank, std::string_view time) const {
  add_pieces(text, single_.at(static_cast<std::size_t>(local_rank)), time);
}

void LinePrefix::add(std::string& text, const std::vector<int>& local_ranks, std::string_view time) {
  if (local_ranks.size() == 1) return add(text, local_ranks.front(), time);
  auto found = together_.find(local_ranks);
  if (found == together_.end()) {
    if (together_.size() >= most_together) together_.clear();
    found = together_.emplace(local_ranks, decorated(make(local_ranks), several)).first;
  }
  add_pieces(text, found->second, time);
}

}  // namespace launch

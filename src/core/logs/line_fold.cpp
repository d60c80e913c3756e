#include "launch/core/logs/line_fold.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace launch {

LineFold::LineFold(int nproc, Duration window) : nproc_(nproc), window_(window), next_(nproc, 0) {}

void LineFold::take(int local_rank, std::string_view line, Time now, const Sink& sink) {
  if (nproc_ == 1) {
    ranks_.assign(1, local_rank);
    sink(line, ranks_);
    return;
  }
  Group& group = group_for(local_rank, line, now);
  group.ranks[local_rank / 64] |= std::uint64_t{1} << (local_rank % 64);
  --group.missing;
  while (!groups_.empty() &&
         (groups_.front().missing == 0 || text_bytes_ > most_text || groups_.size() > most_groups)) {
    give_front(sink);
  }
}

// The earliest group with this text after all that have the rank, or else a new one. Notes that the rank has it.
LineFold::Group& LineFold::group_for(int local_rank, std::string_view line, Time now) {
  std::uint64_t& next = next_[local_rank];
  const std::uint64_t first = std::max(next, given_);
  const std::uint64_t end = given_ + groups_.size();
  // Ranks mostly print the same lines in the same order; then no search is needed.
  if (first < end && groups_[first - given_].text == line) {
    next = first + 1;
    return groups_[first - given_];
  }
  const std::size_t hash = std::hash<std::string_view>()(line);
  Numbers& numbers = numbers_[hash];
  auto number = std::lower_bound(numbers.all.begin() + numbers.first, numbers.all.end(), first);
  while (number != numbers.all.end() && groups_[*number - given_].text != line) ++number;
  if (number != numbers.all.end()) {
    next = *number + 1;
    return groups_[*number - given_];
  }
  numbers.all.push_back(end);
  text_bytes_ += line.size();
  next = end + 1;
  return groups_.emplace_back(
      Group{std::string(line), hash, now, std::vector<std::uint64_t>((nproc_ + 63) / 64), nproc_});
}

void LineFold::give_front(const Sink& sink) {
  const Group group = std::move(groups_.front());
  groups_.pop_front();
  ++given_;
  text_bytes_ -= group.text.size();
  forget(group.hash);
  ranks_.clear();
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    for (std::uint64_t bits = group.ranks[i]; bits != 0; bits &= bits - 1)
      ranks_.push_back(static_cast<int>(i * 64) + std::countr_zero(bits));
  }
  sink(group.text, ranks_);
}

// Forgets the first group of this hash, which was the front one.
void LineFold::forget(std::size_t hash) {
  const auto known = numbers_.find(hash);
  Numbers& numbers = known->second;
  ++numbers.first;
  if (numbers.first == numbers.all.size()) {
    numbers_.erase(known);
  } else if (numbers.first * 2 > numbers.all.size()) {
    numbers.all.erase(numbers.all.begin(), numbers.all.begin() + numbers.first);
    numbers.first = 0;
  }
}

void LineFold::give_due(Time now, const Sink& sink) {
  while (!groups_.empty() && (groups_.front().missing == 0 || due() <= now)) give_front(sink);
}

void LineFold::give_all(const Sink& sink) {
  while (!groups_.empty()) give_front(sink);
}

Time LineFold::due() const { return groups_.empty() ? never : later(groups_.front().since, window_); }

}  // namespace launch

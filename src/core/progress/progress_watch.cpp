#include "launch/core/progress/progress_watch.hpp"

#include <algorithm>
#include <chrono>

namespace launch {
namespace {

using namespace std::chrono_literals;

constexpr Duration between_points = 500ms;
constexpr Duration measured = 60s;

}  // namespace

void ProgressWatch::saw(LocalRank local_rank, const ProgressReader::Seen& seen) {
  if (local_rank.index() >= ranks_.size()) return;
  Rank& rank = ranks_[local_rank.index()];
  const auto& [found, at] = seen;
  const bool first = rank.points.empty();
  if (!first && (found.choice > rank.choice || at < rank.last.at)) return;
  const bool anew = first || found.choice < rank.choice || found.step < rank.last.step;
  if (!anew && found.step == rank.last.step) return;
  rank.choice = found.choice;
  if (first) rank.first = at;
  if (anew) {
    rank.was = first ? std::nullopt : rate_of(rank, at);
    rank.points.clear();
  } else {
    rank.jump = found.step - rank.last.step;
  }
  rank.last = {found.step, at};
  if (rank.points.empty() || at - rank.points.back().at >= between_points) rank.points.push_back(rank.last);
  while (rank.points.size() > 2 && at - rank.points.front().at > measured) rank.points.pop_front();
}

// A worker that has stopped has no rate that its last steps could tell: the longer it makes none, the lower it is.
std::optional<double> ProgressWatch::rate_of(const Rank& rank, Time now) {
  const Point& from = rank.points.front();
  const bool moved = rank.last.at > from.at && rank.last.step > from.step;
  if (!moved) return rank.was;
  const double rate = (rank.last.step - from.step) / seconds_of(rank.last.at - from.at);
  const double waited = seconds_of(now - rank.last.at);
  return waited * rate > rank.jump ? rank.jump / waited : rate;
}

std::optional<ProgressSum> sum_of(const std::vector<RankProgress>& ranks) {
  if (ranks.empty()) return std::nullopt;
  ProgressSum sum{ranks.front().step, ranks.front().step, {}};
  double rates = 0;
  int known = 0;
  for (const RankProgress& one : ranks) {
    sum.least = std::min(sum.least, one.step);
    sum.most = std::max(sum.most, one.step);
    rates += one.rate.value_or(0);
    known += one.rate ? 1 : 0;
  }
  if (known > 0) sum.rate = rates / known;
  return sum;
}

std::vector<RankProgress> ProgressWatch::known(Time now) const {
  std::vector<RankProgress> result;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (const Rank& rank = ranks_[i]; !rank.points.empty())
      result.push_back(
          {LocalRank(static_cast<int>(i)), rank.last.step, rate_of(rank, now), rank.last.at, rank.first, rank.jump});
  return result;
}

}  // namespace launch

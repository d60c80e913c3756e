// How far each worker of this node is, by what ProgressReader has seen: the step, since when it stands there, and how
// many steps it makes per second. A step that goes back (the bar of the next epoch) is a step like any other, but no
// rate follows from it. There is one for each round of workers. Pure; time is a parameter.
#pragma once

#include "launch/core/base/time.hpp"
#include "launch/core/job/rank.hpp"
#include "launch/core/progress/progress_reader.hpp"

#include <deque>
#include <optional>
#include <vector>

namespace launch {

struct RankProgress {
  LocalRank local_rank{};
  double step = 0;
  std::optional<double> rate;  // steps per second; not known after the first one
  Time changed{};              // when the step became what it is
  Time first{};                // when a step was seen for the first time
  double jump = 0;             // between the last two steps; 0: there was one only
};

// All of them as one; `rate` is the mean of those that are known.
struct ProgressSum {
  double least = 0;  // step
  double most = 0;
  std::optional<double> rate;
};
// nullopt: there is none.
std::optional<ProgressSum> sum_of(const std::vector<RankProgress>& ranks);

class ProgressWatch {
 public:
  explicit ProgressWatch(int nproc) : ranks_(static_cast<std::size_t>(nproc)) {}

  void saw(LocalRank local_rank, const ProgressReader::Seen& seen);
  // The ranks whose step is known, ascending.
  std::vector<RankProgress> known(Time now) const;

 private:
  struct Point {
    double step = 0;
    Time at{};
  };
  struct Rank {
    std::deque<Point> points;  // of the last minute, ascending; empty: no step was seen
    Point last;
    Time first{};
    double jump = 0;            // between the last two steps
    std::optional<double> was;  // the rate before the step went back
    int choice = 0;             // the best form that was seen: others count no more
  };
  static std::optional<double> rate_of(const Rank& rank, Time now);

  std::vector<Rank> ranks_;
};

}  // namespace launch

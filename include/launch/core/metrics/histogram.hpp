// Counts durations by buckets, as a histogram of Prometheus does: each bucket holds what is at most its bound. Bounds
// and sum are in seconds. Used for what is shown to a scrape; it decides nothing.
// What was observed is never forgotten.
#pragma once

#include "launch/core/base/time.hpp"

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace launch {

class Histogram {
 public:
  // Rising bounds, in seconds. What is above the last one is counted only in `count`.
  Histogram(std::initializer_list<double> bounds) : bounds_(bounds), counts_(bounds.size()) {}

  void observe(Duration duration);

  const std::vector<double>& bounds() const { return bounds_; }
  // How many are at most bounds()[bucket].
  std::uint64_t up_to(std::size_t bucket) const;
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;  // of each bucket alone
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace launch

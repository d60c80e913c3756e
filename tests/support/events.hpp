// Virtual time: runs what is planned, in order of time and, at the same time, in order of planning. All of it follows
// from one seed. Every fact that is noted goes into a hash, so that equal runs can be told from different ones.
#pragma once

#include "launch/core/base/random.hpp"
#include "launch/core/base/time.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

namespace launch::play {

class Events {
 public:
  explicit Events(std::uint64_t seed) : random_(seed) {}

  Time now() const { return now_; }
  Random& random() { return random_; }

  void at(Time when, std::function<void()> what) { heap_.push({std::max(when, now_), ++plans_, std::move(what)}); }
  void in(Duration delay, std::function<void()> what) { at(later(now_, delay), std::move(what)); }
  // Runs until nothing is planned up to `end`. Then it is `end`.
  void run_until(Time end);
  // Runs until `done`; false: that is not so within `limit`.
  bool run_until(const std::function<bool()>& done, Duration limit);
  std::uint64_t steps() const { return steps_; }

  void note(std::string_view fact);
  // For the story only, not for the hash: words may change.
  void remark(std::string_view words) { tell(std::string(words)); }
  std::uint64_t hash() const { return hash_; }
  const std::deque<std::string>& story() const { return story_; }

 private:
  struct Plan {
    Time when;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Plan& other) const {  // the heap has the largest on top
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  void step();
  const std::string& tell(std::string words);

  Random random_;
  Time now_{std::chrono::hours(1)};
  std::uint64_t plans_ = 0;
  std::uint64_t steps_ = 0;
  std::priority_queue<Plan> heap_;
  std::uint64_t hash_ = 14695981039346656037ULL;
  std::deque<std::string> story_;  // the last facts, for a failure
};

}  // namespace launch::play

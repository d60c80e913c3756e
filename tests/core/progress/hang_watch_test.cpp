#include "launch/core/progress/hang_watch.hpp"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace launch::hang_watch_test {
namespace {

using namespace std::chrono_literals;

const Time start_time = Time(1h);
constexpr pid_t worker_pid = 77;
constexpr std::uint64_t mib = std::uint64_t{1} << 20;

// What a worker has used after so many seconds.
using Life = std::function<WorkTally(int second)>;

WorkTally used(double cpu_s, std::uint64_t faults, std::uint64_t io_bytes, bool accelerator = false) {
  WorkTally tally;
  tally.cpu_s = cpu_s;
  tally.faults = faults;
  tally.io_bytes = io_bytes;
  tally.family = {worker_pid};
  tally.accelerator = accelerator;
  return tally;
}

// How long it has been quiet after a minute.
Duration quiet_after_a_minute(const std::vector<Life>& workers) {
  HangWatch watch(1s);
  watch.begin(start_time);
  for (int second = 0; second <= 60; ++second) {
    WorkTallies tallies;
    for (std::size_t i = 0; i < workers.size(); ++i) tallies[worker_pid + static_cast<int>(i)] = workers[i](second);
    watch.sample(tallies, later(start_time, second * 1s));
  }
  EXPECT_FALSE(watch.quiet(later(start_time, 60s)).by_steps);
  return watch.quiet(later(start_time, 60s)).time;
}

std::uint64_t times(int second, std::uint64_t amount) { return static_cast<std::uint64_t>(second) * amount; }

TEST(HangWatch, KnowsWorkFromWaiting) {
  const Life sleeper = [](int) { return used(3, 1000, mib); };
  const Life evaluation = [](int second) { return used(second, 1000, mib); };
  const struct {
    const char* name;
    std::vector<Life> workers;
    bool works;
  } cases[] = {
      {"asleep", {sleeper}, false},
      {"its threads wake up now and then",
       {[](int second) { return used(second * 0.02, 1000 + times(second, 1), mib + times(second, 200)); }},
       false},
      {"spins in a collective", {[](int second) { return used(second, 1000, mib, true); }}, false},
      {"spins, and its watchdog looks at a store",
       {[](int second) { return used(second * 1.03, 1000, mib + times(second, 300), true); }},
       false},
      {"evaluates in Python", {evaluation}, true},
      {"evaluates beside an accelerator",
       {[](int second) { return used(second % 2 == 0 ? second * 0.6 : second * 0.6 + 0.4, 1000, mib, true); }},
       true},
      {"evaluates beside an accelerator, with new memory",
       {[](int second) { return used(second, times(second, 100), mib, true); }},
       true},
      {"writes a checkpoint", {[](int second) { return used(0, 1000, times(second, 20 * mib), true); }}, true},
      {"imports from a slow disk", {[](int second) { return used(second * 0.05, 1000, times(second, 20'000)); }}, true},
      {"starts processes",
       {[](int second) {
         WorkTally tally = used(0, 0, 0);
         tally.family.push_back(100 + second);
         return tally;
       }},
       true},
      {"evaluates, and gets a processor hardly ever",
       {[](int second) {
         WorkTally tally = used(second * 0.05, 1000, mib);
         tally.runnable = true;
         return tally;
       }},
       true},
      {"is seen awake now and then",
       {[](int second) {
         WorkTally tally = used(0, 1000, mib);
         tally.runnable = second % 2 == 0;
         return tally;
       }},
       false},
      {"spins beside others that spin",
       {[](int second) {
         WorkTally tally = used(second * 0.1, 1000, mib, true);
         tally.runnable = true;
         return tally;
       }},
       false},
      {"is held by a debugger",
       {[](int) {
         WorkTally tally = used(0, 0, 0);
         tally.stopped = true;
         return tally;
       }},
       true},
      {"writes into its log",
       {[](int second) {
         WorkTally tally = used(0, 0, 0);
         tally.output = times(second, 1);
         return tally;
       }},
       true},
      {"one works while the others wait", {sleeper, evaluation, sleeper}, true},
      {"nobody is left", {}, false},
  };
  for (const auto& one : cases) EXPECT_EQ(one.works ? 0s : 60s, quiet_after_a_minute(one.workers)) << one.name;
}

TEST(HangWatch, AWorkerThatStopsWorkingIsQuietFromThenOn) {
  EXPECT_EQ(20s, quiet_after_a_minute({[](int second) { return used(std::min(second, 40), 0, 0); }}));
  EXPECT_EQ(19s, quiet_after_a_minute({[](int second) { return used(std::max(second, 40), 0, 0, true); }}))
      << "it slept, and then spins: the change is at second 41";
}

class HangWatchTest : public testing::Test {
 protected:
  HangWatchTest() { watch_.begin(start_time); }
  static Time at(Duration after) { return later(start_time, after); }
  void sample(Duration after) { watch_.sample({{worker_pid, used(0, 0, 0)}}, at(after)); }
  Duration quiet(Duration after) const { return watch_.quiet(at(after)).time; }

  HangWatch watch_{1s};
};

TEST_F(HangWatchTest, StepsCountAloneAsSoonAsOneIsKnown) {
  watch_.stepped(at(3s));
  watch_.worked(at(9s));
  EXPECT_EQ(7s, quiet(10s));
  EXPECT_TRUE(watch_.quiet(at(10s)).by_steps);
  watch_.stepped(at(2s));
  EXPECT_EQ(7s, quiet(10s)) << "of several workers the last step counts";
  watch_.begin(at(20s));
  EXPECT_FALSE(watch_.quiet(at(21s)).by_steps);
  EXPECT_EQ(1s, quiet(21s));
}

TEST_F(HangWatchTest, OutputIsWork) {
  watch_.heard(at(4s));
  EXPECT_EQ(6s, quiet(10s));
}

TEST_F(HangWatchTest, WhatWeHaveCausedIsNoWork) {
  for (int second = 0; second < 5; ++second) sample(second * 1s);
  watch_.disturbed(at(4s), at(5s));
  watch_.heard(at(4500ms));
  watch_.sample({{worker_pid, used(3, 900, mib)}}, at(5500ms));
  EXPECT_EQ(6s, quiet(6s));
  watch_.sample({{worker_pid, used(4, 900, mib)}}, at(6500ms));
  EXPECT_EQ(0s, quiet(6500ms));
}

TEST_F(HangWatchTest, APauseOfLaunchIsNoQuiet) {
  for (int second = 0; second < 5; ++second) sample(second * 1s);
  EXPECT_EQ(4s, quiet(4s));
  sample(1h);
  EXPECT_EQ(0s, quiet(1h));
  watch_.stepped(at(3s));
  sample(2h);
  EXPECT_EQ(0s, quiet(2h));
}

TEST_F(HangWatchTest, LooksATenthOfTheTime) {
  EXPECT_EQ(200ms, look_interval(1s));
  EXPECT_EQ(3s, look_interval(30s));
  EXPECT_EQ(10s, look_interval(1h));
}

}  // namespace
}  // namespace launch::hang_watch_test

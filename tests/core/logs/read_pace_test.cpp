#include "launch/core/logs/read_pace.hpp"

#include <gtest/gtest.h>

namespace launch::read_pace_test {

using namespace std::chrono_literals;

constexpr std::size_t line = 100;
constexpr Time start{1000s};

// Line by line as fast as it goes; the pause that this comes to.
Duration hurried(ReadPace& pace, Time& now) {
  Duration pause{};
  for (int i = 0; i < 8; ++i) pause = pace.after(line, false, now += 5us);
  return pause;
}

TEST(ReadPace, LonesomeLinesAreReadAtOnce) {
  ReadPace pace;
  Time now = start;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(pace.after(line, false, now += 250us), Duration::zero());
}

TEST(ReadPace, BlocksAreReadAtOnce) {
  ReadPace pace;
  Time now = start;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(pace.after(65536, false, now += 10us), Duration::zero());
}

TEST(ReadPace, ManyLinesByThemselvesGatherForAMillisecondAtMost) {
  ReadPace pace;
  Time now = start;
  EXPECT_GT(hurried(pace, now), Duration::zero());
  Duration pause{};
  for (int i = 0; i < 100; ++i) {
    pause = pace.after(10'000, false, now += 1ms);
    EXPECT_LE(pause, 1ms);
  }
  EXPECT_EQ(pause, 1ms);
}

TEST(ReadPace, APipeThatFillsIsReadSooner) {
  ReadPace pace;
  Time now = start;
  hurried(pace, now);
  for (int i = 0; i < 10; ++i) (void)pace.after(10'000, false, now += 1ms);
  EXPECT_LT(pace.after(200'000, true, now += 1ms), 1ms);
  for (int i = 0; i < 10; ++i) EXPECT_GT(pace.after(200'000, true, now += 1ms), Duration::zero());
}

TEST(ReadPace, APauseThatBringsLittleIsTheLast) {
  ReadPace pace;
  Time now = start;
  EXPECT_GT(hurried(pace, now), Duration::zero());
  EXPECT_EQ(pace.after(line, false, now += 125us), Duration::zero());
  EXPECT_EQ(pace.after(line, false, now += 5us), Duration::zero());
}

}  // namespace launch::read_pace_test

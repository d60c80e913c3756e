#include "launch/core/progress/progress_watch.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace launch::progress_watch_test {
namespace {

using namespace std::chrono_literals;

const Time start_time = Time(1h);
constexpr LocalRank first(0), second(1);

class ProgressWatchTest : public testing::Test {
 protected:
  void saw(double step, Duration after, LocalRank rank = first, int choice = 0) {
    watch_.saw(rank, {{step, choice}, later(start_time, after)});
  }
  RankProgress only(Duration after) {
    const auto known = watch_.known(later(start_time, after));
    if (known.size() == 1) return known[0];
    ADD_FAILURE() << known.size();
    return {};
  }

  ProgressWatch watch_{2};
};

TEST_F(ProgressWatchTest, KnowsNothingBeforeTheFirstStep) { EXPECT_TRUE(watch_.known(start_time).empty()); }

TEST_F(ProgressWatchTest, MeasuresTheRate) {
  saw(10, 0s);
  EXPECT_EQ(std::nullopt, only(0s).rate);
  for (int i = 1; i <= 100; ++i) saw(10 + i, i * 100ms);
  EXPECT_EQ(110, only(10s).step);
  EXPECT_NEAR(10, *only(10s).rate, 0.01);
  for (int i = 1; i <= 200; ++i) saw(110 + i * 2, 10s + i * 1s);
  EXPECT_NEAR(2, *only(210s).rate, 0.01) << "what was more than a minute ago does not count";
}

TEST_F(ProgressWatchTest, KnowsTheMomentOfTheFirstStep) {
  saw(5, 2s);
  saw(6, 3s);
  saw(1, 4s);  // the next epoch
  EXPECT_EQ(later(start_time, 2s), only(9s).first);
}

TEST_F(ProgressWatchTest, TheSameStepAgainIsNoChange) {
  saw(1, 0s);
  saw(2, 1s);
  saw(2, 5s);
  EXPECT_EQ(later(start_time, 1s), only(5s).changed);
}

TEST_F(ProgressWatchTest, AWorkerThatHasStoppedGetsSlower) {
  for (int i = 0; i <= 10; ++i) saw(i * 10, i * 1s);
  EXPECT_NEAR(10, *only(10s).rate, 0.01);
  EXPECT_NEAR(10, *only(11s).rate, 0.01) << "it writes every tenth step";
  EXPECT_NEAR(0.1, *only(110s).rate, 0.01);
}

TEST_F(ProgressWatchTest, TheNextEpochBeginsAnew) {
  for (int i = 0; i <= 10; ++i) saw(i, i * 1s);
  saw(0, 12s);
  EXPECT_EQ(0, only(12s).step);
  EXPECT_EQ(later(start_time, 12s), only(12s).changed);
  EXPECT_GT(*only(12s).rate, 0);
  saw(3, 13s);
  EXPECT_NEAR(3, *only(13s).rate, 0.01);
}

TEST_F(ProgressWatchTest, TheBetterFormOfAProgramCounts) {
  saw(0.5, 0s, first, 1);
  EXPECT_EQ(0.5, only(0s).step);
  saw(50, 1s, first, 0);
  saw(0.6, 2s, first, 1);
  EXPECT_EQ(50, only(2s).step);
}

TEST_F(ProgressWatchTest, EachWorkerHasItsOwn) {
  saw(5, 0s, second);
  EXPECT_EQ(second, only(0s).local_rank);
  saw(7, 1s, first);
  saw(9, 2s, LocalRank(7));
  ASSERT_EQ(2U, watch_.known(start_time).size());
  EXPECT_EQ(7, watch_.known(start_time)[0].step);
}

TEST_F(ProgressWatchTest, AllOfThemAsOne) {
  EXPECT_FALSE(sum_of({}));
  const auto sum = sum_of({{first, 7, std::nullopt, {}}, {second, 5, 2.0, {}}});
  ASSERT_TRUE(sum);
  EXPECT_EQ(5, sum->least);
  EXPECT_EQ(7, sum->most);
  EXPECT_EQ(2, sum->rate);
  EXPECT_EQ(std::nullopt, sum_of({{first, 7, std::nullopt, {}}})->rate);
}

}  // namespace
}  // namespace launch::progress_watch_test

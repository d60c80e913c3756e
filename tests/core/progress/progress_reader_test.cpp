#include "launch/core/progress/progress_reader.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace launch::progress_reader_test {
namespace {

using namespace std::chrono_literals;

const Time start_time = Time(1h);

class ProgressReaderTest : public testing::Test {
 protected:
  std::optional<double> feed(std::string_view bytes, Duration after = {}) {
    const auto seen = reader_.feed(bytes, later(start_time, after));
    return seen ? std::optional(seen->found.step) : std::nullopt;
  }
  std::optional<double> settle(Duration after) {
    const auto seen = reader_.settle(later(start_time, after));
    return seen ? std::optional(seen->found.step) : std::nullopt;
  }

  ProgressPattern pattern_ = *ProgressPattern::compile("step ([0-9]+)");
  ProgressReader reader_{pattern_};
};

TEST_F(ProgressReaderTest, ALineCountsWhenItEnds) {
  EXPECT_EQ(std::nullopt, feed("step 1"));
  EXPECT_EQ(12, feed("2\nst"));
  EXPECT_EQ(std::nullopt, feed("ep 13"));
  EXPECT_EQ(13, feed("\r\n"));
  EXPECT_EQ(std::nullopt, feed("\n\r\n no\n"));
  EXPECT_EQ(15, feed("step 14\nstep 15\nother\n"));
}

TEST_F(ProgressReaderTest, AStateOfABarCountsWhenTheNextOneComesOrWhenItStands) {
  EXPECT_EQ(std::nullopt, feed("\rstep 1"));
  EXPECT_EQ(1, feed("\rstep 2", 10ms));
  EXPECT_EQ(std::nullopt, settle(20ms));
  EXPECT_EQ(2, settle(200ms));
  EXPECT_EQ(29, feed("9\r", 300ms)) << "the state was not complete";
}

TEST_F(ProgressReaderTest, KnowsWhenItWasWritten) {
  feed("step 7", 10ms);
  const auto seen = reader_.settle(later(start_time, 5s));
  ASSERT_TRUE(seen);
  EXPECT_EQ(later(start_time, 10ms), seen->at);
}

TEST_F(ProgressReaderTest, BeyondTheBudgetOnlyTheNewestLineIsLookedAt) {
  std::string many;
  for (int i = 0; i < 500; ++i) many += "step " + std::to_string(i) + "\n";
  EXPECT_EQ(ProgressReader::most_lines - 1, feed(many + "step 7"));
  EXPECT_EQ(std::nullopt, feed("8\nx\nstep 79\nstep", 50ms));
  EXPECT_EQ(std::nullopt, settle(60ms));
  EXPECT_EQ(79, settle(100ms));
  EXPECT_EQ(80, feed(" 80\n", 110ms)) << "what follows the newest line is not lost";
}

TEST_F(ProgressReaderTest, BeyondTheBudgetALineMayComeInPieces) {
  feed(std::string(200, '\n'));
  std::string lines;
  for (int i = 0; i < ProgressReader::most_lines; ++i) lines += "x\n";
  feed(lines);
  EXPECT_EQ(std::nullopt, feed("step "));
  EXPECT_EQ(std::nullopt, feed("5\r\n"));
  EXPECT_EQ(5, settle(100ms));
}

TEST_F(ProgressReaderTest, ALongLineIsCut) {
  EXPECT_EQ(1, feed("step 1" + std::string(std::size_t{1} << 20, ' ') + "\n"));
  EXPECT_EQ(std::nullopt, feed(std::string(std::size_t{1} << 20, ' ') + "step 2\n"));
}

TEST_F(ProgressReaderTest, WhileItRestsNothingIsLookedAt) {
  EXPECT_EQ(1, feed("step 1\nstep 2"));
  reader_.rest(later(start_time, 900ms));
  EXPECT_EQ(std::nullopt, settle(800ms)) << "what stands has its time";
  EXPECT_EQ(std::nullopt, feed("\nstep 3\n", 800ms));
  EXPECT_EQ(4, feed("step 4\n", 900ms));
}

TEST_F(ProgressReaderTest, WhatStandsIsLookedAtOnce) {
  feed("step 1");
  EXPECT_EQ(1, settle(200ms));
  EXPECT_EQ(std::nullopt, settle(300ms));
  feed("2", 400ms);
  EXPECT_EQ(12, settle(600ms));
}

TEST_F(ProgressReaderTest, IsFedLineByLineAsLongAsItLooks) {
  const std::string_view bytes = "one\rtwo\nrest";
  EXPECT_EQ(4U, reader_.next_feed(bytes, start_time));
  EXPECT_EQ(4U, reader_.next_feed(bytes.substr(8), start_time)) << "no end";
  reader_.rest(later(start_time, 1s));
  EXPECT_EQ(12U, reader_.next_feed(bytes, later(start_time, 999ms)));
  EXPECT_EQ(4U, reader_.next_feed(bytes, later(start_time, 1s)));
}

TEST(ProgressBudget, IsATenthOfTheTimeOfAllStreams) {
  ProgressBudget budget;
  const auto spent = [&budget](Duration time, Duration at) -> std::optional<Duration> {
    const auto until = budget.spent(time, later(start_time, at));
    return until ? std::optional(*until - start_time) : std::nullopt;
  };
  EXPECT_EQ(10s, spent(1s, 1s)) << "one slow look";
  EXPECT_EQ(std::nullopt, spent(9ms, 10s));
  EXPECT_EQ(10s + 141ms, spent(6ms, 10s + 6ms)) << "several that are not";
  EXPECT_EQ(std::nullopt, spent(9ms, 20s));
  EXPECT_EQ(std::nullopt, spent(9ms, 20s + 100ms)) << "a new window";
}

}  // namespace
}  // namespace launch::progress_reader_test

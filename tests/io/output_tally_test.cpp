#include "launch/io/output_tally.hpp"

#include <gtest/gtest.h>

namespace launch::output_tally_test {

using namespace std::chrono_literals;

TEST(OutputTally, CountsLinesAndBytes) {
  StreamTally tally;
  EXPECT_FALSE(tally.passes());
  tally.begin();
  EXPECT_TRUE(tally.passes());
  EXPECT_FALSE(tally.last());
  tally.take("a\nb", Time(1s));
  tally.take("c\n\n", Time(2s));
  tally.take("", Time(3s));
  EXPECT_EQ(3U, tally.lines());
  EXPECT_EQ(6U, tally.bytes());
  EXPECT_EQ(Time(2s), tally.last());
}

TEST(OutputTally, CountsGoOnWithTheNextWorker) {
  StreamTally tally;
  tally.begin();
  tally.take("a\n", Time(1s));
  tally.set_lost(5);
  tally.set_lost(5);
  tally.begin();
  EXPECT_FALSE(tally.last());
  tally.take("b\n", Time(9s));
  tally.set_lost(1);
  tally.set_lost(0);  // from a thread that was late
  tally.lose(2);
  EXPECT_EQ(2U, tally.lines());
  EXPECT_EQ(4U, tally.bytes());
  EXPECT_EQ(8U, tally.lost());
}

TEST(OutputTally, KnowsTheFirstMoment) {
  for (const TallyKeeps keeps : {TallyKeeps::all, TallyKeeps::first}) {
    StreamTally tally(keeps);
    tally.begin();
    EXPECT_FALSE(tally.first());
    tally.take("", Time(1s));
    EXPECT_FALSE(tally.first());
    tally.take("a\n", Time(2s));
    tally.take("b\n", Time(3s));
    EXPECT_EQ(Time(2s), tally.first());
    EXPECT_EQ(keeps == TallyKeeps::all ? 2U : 0U, tally.lines());
    tally.begin();
    EXPECT_FALSE(tally.first()) << "of the worker before";
  }
}

TEST(OutputTally, EachStreamHasItsOwn) {
  const OutputTally outputs(2);
  outputs.of(LocalRank(1), OutputTally::err)->take("x\n", Time(1s));
  EXPECT_EQ(1U, outputs.of(LocalRank(1), OutputTally::err)->lines());
  EXPECT_EQ(0U, outputs.of(LocalRank(1), OutputTally::out)->lines());
  EXPECT_EQ(0U, outputs.of(LocalRank(0), OutputTally::err)->lines());
}

}  // namespace launch::output_tally_test

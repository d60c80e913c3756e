#include "launch/core/progress/hang_judge.hpp"

#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::hang_judge_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

const Time start_time = Time(1h);
constexpr Duration timeout = 20s;

Time at(Duration after) { return later(start_time, after); }
NodeQuiet node(int rank, Duration quiet, bool by_steps = false) { return {rank, Quiet{quiet, by_steps}}; }

class HangJudgeTest : public testing::Test {
 protected:
  HangJudgeTest() { judge_.begin(start_time); }
  std::optional<Duration> judge(const std::vector<NodeQuiet>& nodes, Duration after) {
    return judge_.judge(nodes, at(after)).hangs;
  }
  bool must_ask(Duration quiet, Duration after) const { return judge_.must_ask({quiet, false}, at(after)); }

  HangJudge judge_{timeout, false};
};

TEST(HangJudge, AllNodesMustBeQuiet) {
  const struct {
    const char* name;
    std::vector<NodeQuiet> nodes;
    std::optional<Duration> hangs;
  } cases[] = {
      {"one node", {node(0, 20s)}, 20s},
      {"not yet", {node(0, 19s)}, std::nullopt},
      {"both", {node(0, 30s), node(1, 25s)}, 25s},
      {"one works", {node(0, 30s), node(1, 3s)}, std::nullopt},
      {"one cannot say", {node(0, 30s), {1, std::nullopt}}, std::nullopt},
      {"none can say", {{0, std::nullopt}}, std::nullopt},
      {"where steps are known, they count alone", {node(0, 30s, true), node(1, 1s)}, 30s},
      {"and each of them", {node(0, 30s, true), node(1, 1s, true), node(2, 40s)}, std::nullopt},
      {"but who cannot say may know some", {node(0, 30s, true), {1, std::nullopt}}, std::nullopt},
  };
  for (const auto& one : cases) {
    HangJudge judge(timeout, false);
    judge.begin(start_time);
    EXPECT_EQ(one.hangs, judge.judge(one.nodes, at(60s)).hangs) << one.name;
  }
}

TEST_F(HangJudgeTest, NamesThoseThatCannotSay) {
  EXPECT_THAT(judge_.judge({node(0, 30s), {1, std::nullopt}, {3, std::nullopt}}, at(30s)).unknown, ElementsAre(1, 3));
}

TEST_F(HangJudgeTest, AsksWhenItsOwnNodeIsQuiet) {
  EXPECT_FALSE(must_ask(19s, 19s));
  EXPECT_FALSE(must_ask(20s, 19s)) << "the workers have hardly begun";
  EXPECT_TRUE(must_ask(20s, 20s));
}

TEST_F(HangJudgeTest, AsksAgainWhenTheLastOneMayBeQuietForLongEnough) {
  EXPECT_FALSE(judge({node(0, 20s), node(1, 5s)}, 20s));
  EXPECT_FALSE(must_ask(34s, 34s));
  EXPECT_TRUE(must_ask(35s, 35s));
}

TEST_F(HangJudgeTest, IsToldOnceForEachQuietPhase) {
  EXPECT_TRUE(judge({node(0, 20s)}, 20s));
  judge_.told(at(20s));
  EXPECT_FALSE(judge({node(0, 30s)}, 30s));
  EXPECT_FALSE(judge({node(0, 100s)}, 100s));
  EXPECT_TRUE(judge({node(0, 25s)}, 130s)) << "something has happened since";
  judge_.told(at(130s));
  EXPECT_FALSE(judge({node(0, 1s)}, 131s));
  EXPECT_TRUE(judge({node(0, 21s)}, 151s));
}

TEST_F(HangJudgeTest, AsksOthersThatKnowStepsThoughItsOwnNodeWorks) {
  HangJudge judge(timeout, true);
  judge.begin(start_time);
  EXPECT_TRUE(judge.must_ask({0s, false}, at(20s)));
  EXPECT_FALSE(judge.must_ask({0s, true}, at(20s)));
  EXPECT_FALSE(judge.judge({node(0, 0s), node(1, 15s, true)}, at(20s)).hangs);
  EXPECT_TRUE(judge.must_ask({0s, false}, at(25s)));
  EXPECT_TRUE(judge.judge({node(0, 0s), node(1, 20s, true)}, at(25s)).hangs);
}

}  // namespace
}  // namespace launch::hang_judge_test

#include "launch/core/hosts/folded_output.hpp"

#include "launch/core/base/number_ranges.hpp"
#include "launch/core/base/random.hpp"
#include "launch/core/base/text.hpp"
#include "launch/core/host/binding.hpp"

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::folded_output_test {

using namespace std::chrono_literals;

const Time begin{std::chrono::hours(1)};

// As a node writes it.
std::string marked(std::string_view ranks, std::string_view line) { return fmt::format("\x1e{}\x1f{}", ranks, line); }

// A fold, and what it has shown.
struct Fold {
  explicit Fold(int ranks) : output(ranks) {}

  Fold& take(std::string_view ranks, std::string_view line, Duration after = 0ms) {
    output.take(marked(ranks, line), begin + after, text);
    return *this;
  }
  std::string shown() { return std::exchange(text, ""); }

  FoldedOutput output;
  std::string text;
};

TEST(FoldedOutput, ALineOfAllRanksIsShownOnceAndAtOnce) {
  Fold fold(16);
  fold.take("0-7", "loss 2.3");
  EXPECT_EQ(fold.shown(), "");
  EXPECT_EQ(fold.output.due(), begin + fold_window);
  EXPECT_EQ(fold.take("8-15", "loss 2.3", 20ms).shown(), "[0-15]:loss 2.3\n");
  EXPECT_EQ(fold.output.due(), never);
}

TEST(FoldedOutput, ALineOfSomeWaitsForTheOthersAsLongAsTheWindow) {
  Fold fold(8);
  fold.take("0-3", "resuming").take("4,6", "resuming", 150ms).take("5,7", "waiting for a lock", 150ms);
  fold.output.give_due(begin + fold_window - 1ms, fold.text);
  EXPECT_EQ(fold.shown(), "");
  fold.output.give_due(begin + fold_window, fold.text);
  EXPECT_EQ(fold.shown(), "[0-4,6]:resuming\n");
  fold.output.give_all(fold.text);
  EXPECT_EQ(fold.shown(), "[5,7]:waiting for a lock\n");
}

TEST(FoldedOutput, WhatHasNoMarkIsAMessageOfLaunch) {
  Fold fold(4);
  for (const char* line : {"launch: warning: x", "", "\x1e",
                           "\x1e"
                           "0-3",
                           "\x1e\x1fx", "\x1ex\x1fy", "[0]:x", "\x1e-\x1fx",
                           "\x1e"
                           "0 \x1fx"}) {
    fold.output.take(line, begin, fold.text);
    EXPECT_EQ(fold.shown(), std::string(line) + "\n") << line;
  }
  EXPECT_EQ(fold.output.due(), never);
}

TEST(FoldedOutput, RanksThatNobodyHasAnnouncedAreShownAtOnce) {
  Fold fold(2);
  EXPECT_EQ(fold.take("0-2", "more").shown(), "[0-2]:more\n");
  EXPECT_EQ(fold.take("999999", "far").shown(), "[999999]:far\n");
  Fold none(0);
  EXPECT_EQ(none.take("0", "alone").shown(), "[0]:alone\n");
  Fold many(2'000'000'000);
  EXPECT_EQ(many.output.due(), never) << "as many as a million";
}

TEST(FoldedOutput, ALineMayHaveAnyBytes) {
  Fold fold(2);
  EXPECT_EQ(fold.take("0-1",
                      "\x1e"
                      "5\x1f\xff\x1b[31m[9]:")
                .shown(),
            "[0-1]:\x1e"
            "5\x1f\xff\x1b[31m[9]:\n");
}

// Nodes that write as they like: each line of each rank comes out once, in the order of its rank, and not too late.
TEST(FoldedOutput, NothingIsLostOrDoubledAndEachRankKeepsItsOrder) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const auto draw = [&random](int below) { return static_cast<int>(random.next() % static_cast<unsigned>(below)); };
    const int nodes = 1 + draw(5), workers = 1 + draw(4);
    Fold fold(nodes * workers);
    std::map<int, std::vector<std::string>> written, seen;
    Time now = begin;
    for (int step = 0; step < 300; ++step) {
      now += std::chrono::milliseconds(draw(40));
      const int node = draw(nodes);
      const std::string line = fmt::format("line {}", draw(6));
      std::vector<int> ranks;
      for (int worker = 0; worker < workers; ++worker)
        if (draw(3) > 0) ranks.push_back(node * workers + worker);
      if (ranks.empty()) continue;
      for (const int rank : ranks) written[rank].push_back(line);
      fold.output.take(marked(cpu_ranges(ranks), line), now, fold.text);
      if (draw(2) > 0) fold.output.give_due(now, fold.text);
      if (fold.output.due() <= now) fold.output.give_due(now, fold.text);
      EXPECT_GT(fold.output.due(), now) << "it waits for longer than the window";
    }
    fold.output.give_all(fold.text);
    for (const std::string_view one : split(fold.text, '\n')) {
      if (one.empty()) continue;
      const auto end = one.find("]:");
      ASSERT_NE(end, std::string_view::npos) << one;
      for (const int rank : from_ranges(one.substr(1, end - 1))) seen[rank].emplace_back(one.substr(end + 2));
    }
    EXPECT_EQ(seen, written) << "seed " << seed;
  }
}

TEST(FoldedOutput, WhatWaitsIsBounded) {
  Fold fold(2);
  const std::string line(1000, 'x');
  std::size_t given = 0;
  for (int i = 0; i < 20'000; ++i) {
    fold.take("0", line + std::to_string(i));
    given += fold.shown().size();
  }
  EXPECT_LE(20'000U * 1'000U - given, LineFold::most_text + 100'000U);
}

}  // namespace launch::folded_output_test

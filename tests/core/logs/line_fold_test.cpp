#include "launch/core/logs/line_fold.hpp"

#include "launch/core/base/random.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::line_fold_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Ranks = std::vector<int>;
using Given = std::vector<std::pair<std::string, Ranks>>;

constexpr Time start{};

struct Fold {
  explicit Fold(int nproc, Duration window = 100ms) : fold(nproc, window) {}

  // What came out of this call.
  Given take(int rank, std::string_view line, Time now = start) {
    return collect([&](const LineFold::Sink& sink) { fold.take(rank, line, now, sink); });
  }
  Given give_due(Time now) {
    return collect([&](const LineFold::Sink& sink) { fold.give_due(now, sink); });
  }
  Given give_all() {
    return collect([&](const LineFold::Sink& sink) { fold.give_all(sink); });
  }

  LineFold fold;

 private:
  template <class Call>
  static Given collect(Call call) {
    Given given;
    call([&](std::string_view line, const Ranks& ranks) { given.emplace_back(line, ranks); });
    return given;
  }
};

auto line(std::string text, Ranks ranks) { return std::pair(std::move(text), std::move(ranks)); }

TEST(LineFold, ALineIsGivenOnceAllRanksHaveSaidIt) {
  Fold fold(3);
  EXPECT_THAT(fold.take(2, "a"), IsEmpty());
  EXPECT_THAT(fold.take(0, "a"), IsEmpty());
  EXPECT_THAT(fold.take(1, "a"), ElementsAre(line("a", {0, 1, 2})));
  EXPECT_THAT(fold.give_all(), IsEmpty());
}

TEST(LineFold, OneRankWaitsForNobody) {
  Fold fold(1);
  EXPECT_THAT(fold.take(0, "a"), ElementsAre(line("a", {0})));
  EXPECT_THAT(fold.take(0, ""), ElementsAre(line("", {0})));
  EXPECT_EQ(fold.fold.due(), never);
}

TEST(LineFold, BytesPassUnchanged) {
  Fold fold(2);
  const std::string bytes = std::string("\xff\0\r", 3);
  fold.take(0, bytes);
  fold.take(0, "");
  EXPECT_THAT(fold.take(1, bytes), ElementsAre(line(bytes, {0, 1})));
  EXPECT_THAT(fold.take(1, ""), ElementsAre(line("", {0, 1})));
}

TEST(LineFold, WhatIsDueIsGivenWithTheRanksThatSaidIt) {
  Fold fold(3);
  fold.take(2, "a", start);
  fold.take(0, "a", start + 99ms);
  EXPECT_EQ(fold.fold.due(), start + 100ms);
  EXPECT_THAT(fold.give_due(start + 100ms - 1ns), IsEmpty());
  EXPECT_THAT(fold.give_due(start + 100ms), ElementsAre(line("a", {0, 2})));
  EXPECT_EQ(fold.fold.due(), never);
  EXPECT_THAT(fold.take(1, "a", start + 100ms), IsEmpty());
  EXPECT_THAT(fold.give_due(start + 200ms), ElementsAre(line("a", {1})));
}

// One reading of all ranks may begin when something has become due: its lines still join.
TEST(LineFold, TakeGivesNothingBecauseOfTheTime) {
  Fold fold(3);
  fold.take(0, "a", start);
  EXPECT_THAT(fold.take(1, "a", start + 500ms), IsEmpty());
  EXPECT_THAT(fold.take(2, "a", start + 500ms), ElementsAre(line("a", {0, 1, 2})));
}

TEST(LineFold, NothingIsDueAfterAWindowWithoutEnd) {
  Fold fold(2, Duration::max());
  fold.take(0, "a", start + 1ms);
  EXPECT_EQ(fold.fold.due(), never);
  EXPECT_THAT(fold.give_due(start + 24h), IsEmpty());
}

TEST(LineFold, WhatAllHaveSaidWaitsForTheLinesBeforeIt) {
  Fold fold(2);
  fold.take(0, "only 0", start);
  fold.take(0, "both", start + 60ms);
  EXPECT_THAT(fold.take(1, "both", start + 60ms), IsEmpty());
  fold.take(1, "only 1", start + 60ms);
  EXPECT_EQ(fold.fold.due(), start + 100ms);
  EXPECT_THAT(fold.give_due(start + 100ms), ElementsAre(line("only 0", {0}), line("both", {0, 1})));
  EXPECT_EQ(fold.fold.due(), start + 160ms);
  EXPECT_THAT(fold.give_all(), ElementsAre(line("only 1", {1})));
  EXPECT_EQ(fold.fold.due(), never);
}

TEST(LineFold, TheLinesOfARankStayInTheirOrder) {
  Fold fold(2);
  for (const char* text : {"a", "b"}) fold.take(0, text);
  fold.take(1, "b");
  EXPECT_THAT(fold.take(1, "a"), IsEmpty());
  EXPECT_THAT(fold.give_all(), ElementsAre(line("a", {0}), line("b", {0, 1}), line("a", {1})));
}

TEST(LineFold, WhatARankRepeatsIsRepeated) {
  Fold fold(2);
  for (int i = 0; i < 3; ++i) fold.take(0, "a");
  EXPECT_THAT(fold.take(1, "a"), ElementsAre(line("a", {0, 1})));
  EXPECT_THAT(fold.take(1, "a"), ElementsAre(line("a", {0, 1})));
  EXPECT_THAT(fold.give_all(), ElementsAre(line("a", {0})));
}

TEST(LineFold, ALineJoinsTheEarliestThatItMay) {
  Fold fold(3);
  for (const char* text : {"a", "b", "a"}) fold.take(0, text);
  fold.take(1, "a");
  fold.take(2, "b");
  fold.take(2, "a");
  EXPECT_THAT(fold.give_all(), ElementsAre(line("a", {0, 1}), line("b", {0, 2}), line("a", {0, 2})));
}

TEST(LineFold, ManyRanksAreGivenAscending) {
  Fold fold(130);
  for (int rank = 129; rank > 0; --rank) EXPECT_THAT(fold.take(rank, "a"), IsEmpty());
  Ranks all(130);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(fold.take(0, "a"), ElementsAre(line("a", all)));
}

TEST(LineFold, TooManyLinesWaitNoLonger) {
  Fold fold(2);
  for (std::size_t i = 0; i < LineFold::most_groups; ++i) ASSERT_THAT(fold.take(0, std::to_string(i)), IsEmpty());
  EXPECT_THAT(fold.take(0, "x"), ElementsAre(line("0", {0})));
  EXPECT_THAT(fold.take(1, "x"), IsEmpty());
  EXPECT_THAT(fold.take(1, "y"), ElementsAre(line("1", {0})));
  EXPECT_THAT(fold.give_all(), SizeIs(LineFold::most_groups));
}

TEST(LineFold, TooMuchTextWaitsNoLonger) {
  Fold fold(2);
  const std::string half(LineFold::most_text / 2, 'x');
  EXPECT_THAT(fold.take(0, half), IsEmpty());
  EXPECT_THAT(fold.take(0, half), IsEmpty());
  EXPECT_THAT(fold.take(0, "y"), ElementsAre(line(half, {0})));
  EXPECT_THAT(fold.take(0, std::string(LineFold::most_text + 1, 'z')), SizeIs(3));
  EXPECT_EQ(fold.fold.due(), never);
  EXPECT_THAT(fold.take(0, half), IsEmpty());  // nothing is counted that was given
  EXPECT_THAT(fold.take(1, half), SizeIs(1));
}

// Two texts with one hash under the standard library that we build with, whose hash is MurmurHash64A.
TEST(LineFold, TextsOfOneHashAreKeptApart) {
  constexpr std::uint64_t factor = 0xc6a4a7935bd1e995U;
  std::uint64_t inverse = factor;
  for (int i = 0; i < 5; ++i) inverse *= 2 - factor * inverse;
  const auto mixed = [](std::uint64_t block) { return ((block * factor) ^ (block * factor) >> 47) * factor; };
  const auto unmixed = [&](std::uint64_t mix) { return ((mix * inverse) ^ (mix * inverse) >> 47) * inverse; };
  const auto text_of = [&](std::uint64_t first) {
    const std::uint64_t state = (0xc70f6907U ^ 16 * factor ^ mixed(first)) * factor;
    const std::array<std::uint64_t, 2> blocks{first, unmixed(state ^ 1)};
    std::string text(16, '\0');
    std::memcpy(text.data(), blocks.data(), text.size());
    return text;
  };
  const std::string a = text_of(1);
  const std::string b = text_of(2);
  ASSERT_NE(a, b);
  if (std::hash<std::string_view>()(a) != std::hash<std::string_view>()(b)) GTEST_SKIP() << "another hash";
  Fold fold(2);
  for (const std::string& text : {a, b, a, b}) fold.take(0, text);
  EXPECT_THAT(fold.take(1, b), IsEmpty());
  EXPECT_THAT(fold.take(1, b), IsEmpty());
  EXPECT_THAT(fold.give_all(), ElementsAre(line(a, {0}), line(b, {0, 1}), line(a, {0}), line(b, {0, 1})));
}

// As simple as it can be: every line looks at all groups that wait.
class NaiveFold {
 public:
  explicit NaiveFold(int nproc) : nproc_(nproc) {}

  Given take(int rank, const std::string& text, Time now) {
    const auto last = std::find_if(waiting_.rbegin(), waiting_.rend(), [&](const auto& g) { return g.has(rank); });
    const auto same = std::find_if(last.base(), waiting_.end(), [&](const auto& g) { return g.text == text; });
    if (same != waiting_.end()) {
      same->ranks.insert(rank);
    } else {
      waiting_.push_back({text, {rank}, now});
    }
    return give([&](const Waiting& front) { return complete(front); });
  }
  Given give_due(Time now) {
    return give([&](const Waiting& front) { return complete(front) || front.since + 100ms <= now; });
  }
  Time due() const { return waiting_.empty() ? never : waiting_.front().since + 100ms; }

 private:
  struct Waiting {
    bool has(int rank) const { return ranks.contains(rank); }
    std::string text;
    std::set<int> ranks;
    Time since;
  };

  bool complete(const Waiting& group) const { return group.ranks.size() == static_cast<std::size_t>(nproc_); }
  template <class Ready>
  Given give(Ready ready) {
    Given given;
    while (!waiting_.empty() && ready(waiting_.front())) {
      const std::set<int>& ranks = waiting_.front().ranks;
      given.emplace_back(waiting_.front().text, Ranks(ranks.begin(), ranks.end()));
      waiting_.erase(waiting_.begin());
    }
    return given;
  }

  int nproc_;
  std::vector<Waiting> waiting_;
};

// Each rank says lines of few texts. What comes out is what the model gives, and what each rank has said, in order.
void play(std::uint64_t seed) {
  Random random(seed);
  const int nproc = std::array{2, 3, 8, 70}[random.next() % 4];
  const auto texts = 1 + random.next() % 8;
  const auto pause = 1 + random.next() % 20'000'000;
  Fold fold(nproc);
  NaiveFold naive(nproc);
  std::vector<std::vector<std::string>> said(nproc);
  std::vector<std::vector<std::string>> shown(nproc);
  const auto note = [&](const Given& given) {
    for (const auto& [text, ranks] : given) {
      for (const int rank : ranks) shown[rank].push_back(text);
    }
  };
  Time now = start;
  for (int i = 0; i < 3000; ++i) {
    now += Duration(random.next() % pause);
    const int rank = static_cast<int>(random.next() % nproc);
    const std::string text = std::to_string(random.next() % texts);
    said[rank].push_back(text);
    Given given = fold.take(rank, text, now);
    ASSERT_EQ(given, naive.take(rank, text, now)) << "seed " << seed << ", line " << i;
    note(given);
    ASSERT_EQ(fold.fold.due(), naive.due()) << "seed " << seed << ", line " << i;
    if (random.next() % 4 != 0) continue;
    given = fold.give_due(now);
    ASSERT_EQ(given, naive.give_due(now)) << "seed " << seed << ", line " << i;
    note(given);
  }
  note(fold.give_all());
  EXPECT_EQ(shown, said) << "seed " << seed;
}

TEST(LineFold, GivesEachLineOfEachRankOnceAndInItsOrder) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) ASSERT_NO_FATAL_FAILURE(play(seed));
}

// A scan of all that waits for each line would take minutes.
TEST(LineFold, ManyRanksAndManyLinesAreFast) {
  LineFold fold(512, 100ms);
  std::size_t given = 0;
  const LineFold::Sink sink = [&](std::string_view, const Ranks&) { ++given; };
  for (int rank = 0; rank < 512; ++rank) {
    for (int i = 0; i < 1000; ++i) fold.take(rank, "step " + std::to_string(i * 7 % 1000), start, sink);
  }
  EXPECT_EQ(given, 1000U);
  for (int rank = 0; rank < 512; ++rank) {
    for (int i = 0; i < 200; ++i)
      fold.take(rank, "rank " + std::to_string(rank) + " step " + std::to_string(i), start, sink);
  }
  fold.give_all(sink);
  EXPECT_EQ(given, 1000U + 512 * 200U);
}

}  // namespace launch::line_fold_test

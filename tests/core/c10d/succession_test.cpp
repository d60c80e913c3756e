#include "launch/core/c10d/succession.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace launch {

using namespace std::chrono_literals;

std::set<int> ranks_in(unsigned bits) {
  std::set<int> ranks;
  for (int rank = 0; bits >> static_cast<unsigned>(rank) != 0; ++rank)
    if ((bits >> static_cast<unsigned>(rank) & 1U) != 0) ranks.insert(rank);
  return ranks;
}

bool may(unsigned all, unsigned present, unsigned ended) {
  return may_run({ranks_in(all), ranks_in(ended), ranks_in(present)});
}

TEST(MayRun, NeedsMoreThanHalfOrHalfWithTheLowestRankOrThatNobodyElseCanLive) {
  EXPECT_TRUE(may(0b1110, 0b1110, 0));
  EXPECT_TRUE(may(0b1110, 0b0110, 0));
  EXPECT_FALSE(may(0b1110, 0b0010, 0));
  EXPECT_TRUE(may(0b1111, 0b1001, 0));
  EXPECT_FALSE(may(0b1111, 0b0110, 0));
  EXPECT_TRUE(may(0b1110, 0b1000, 0b0110));
  EXPECT_FALSE(may(0b1110, 0b1000, 0b0010));
  EXPECT_FALSE(may(0b1110, 0, 0b1110));
}

// Both may know any true proofs: no node of a part that runs has ended.
TEST(MayRun, IsNeverTrueForTwoPartsWithoutACommonNode) {
  for (unsigned nodes = 1; nodes <= 8; ++nodes) {
    const unsigned all = (1U << nodes) - 1;
    for (unsigned one = 1; one <= all; ++one) {
      const unsigned rest = all & ~one;
      for (unsigned ended = rest;; ended = (ended - 1) & rest) {
        if (may(all, one, ended)) {
          // The other part has what is left at most, and any proofs about nodes that are in neither.
          const unsigned left = rest & ~ended;
          for (unsigned other = left; other != 0; other = (other - 1) & left) {
            const unsigned outside = all & ~one & ~other;
            for (unsigned known = outside;; known = (known - 1) & outside) {
              ASSERT_FALSE(may(all, other, known)) << all << " " << one << " " << ended << " " << other << " " << known;
              if (known == 0) break;
            }
          }
        }
        if (ended == 0) break;
      }
    }
  }
}

// A part ran, some of its nodes ended, and the rest of it went on without them. A part of others that knows of these
// ends must not run beside it.
TEST(MayRun, IsFalseBesideThoseWhoAreLeftOfAPartThatRan) {
  const unsigned all = 0b11111;
  for (unsigned ran = 1; ran <= all; ++ran) {
    if (!may(all, ran, 0)) continue;
    for (unsigned ended = (ran - 1) & ran; ended != 0; ended = (ended - 1) & ran)
      for (unsigned other = all & ~ran; other != 0; other = (other - 1) & all & ~ran)
        EXPECT_FALSE(may(all, other, ended)) << ran << " " << ended << " " << other;
  }
}

struct Visitors {
  static NodeDesc node(int rank) { return {"n" + std::to_string(rank), 1, launch_local_id}; }
  // The members of a round of n0 (the host) to n3.
  static Comeback comeback(int rank, std::int64_t round = 5) {
    Comeback back;
    back.last = {0, round, 4, NodeRank(rank), NodeRank(0), node(0), {}};
    for (int heir = 1; heir < 4; ++heir) back.last.line.push_back({NodeRank(heir), node(heir), {"n", 1}});
    back.term = 1;
    back.wait = 10s;
    return back;
  }
  void hear(int rank, bool joins = true, std::int64_t round = 5) {
    regrouping.hear({node(rank), joins, rank == 1}, comeback(rank, round), now);
  }
  Regrouping regrouping;
  Time now = Time(1h);
};

TEST(Regrouping, FormsAtOnceWhenAllHaveCome) {
  Visitors those;
  for (const int rank : {3, 2}) those.hear(rank);
  EXPECT_FALSE(those.regrouping.may_form());  // the host has not joined
  those.hear(1);
  EXPECT_TRUE(those.regrouping.may_form());
  EXPECT_EQ(those.regrouping.term(), 1);
  EXPECT_EQ(those.regrouping.base().round, 5);
  EXPECT_EQ(those.regrouping.ranks().at(Visitors::node(3)), 3);
}

TEST(Regrouping, WaitsForThoseWhoseWorkersStillRun) {
  Visitors those;
  for (const int rank : {1, 2}) those.hear(rank);
  those.hear(3, false);
  those.regrouping.on_deadline(later(those.now, 10s));
  EXPECT_FALSE(those.regrouping.may_form());
  those.hear(3);
  EXPECT_TRUE(those.regrouping.may_form());
}

TEST(Regrouping, GoesOnWithoutOneThatIsMissingOnceItsWorkersMustHaveEnded) {
  Visitors those;
  for (const int rank : {1, 2}) those.hear(rank);
  EXPECT_FALSE(those.regrouping.may_form());
  EXPECT_EQ(those.regrouping.arrived(), 2);
  EXPECT_EQ(those.regrouping.awaited(), 3);
  ASSERT_EQ(those.regrouping.deadline(), later(those.now, 10s));
  those.regrouping.on_deadline(later(those.now, 10s));
  EXPECT_TRUE(those.regrouping.may_form());
  EXPECT_EQ(those.regrouping.deadline(), never);
}

TEST(Regrouping, NeverGoesOnWithLessThanHalf) {
  Visitors those;
  those.hear(1);
  those.regrouping.on_deadline(later(those.now, 10s));
  EXPECT_FALSE(those.regrouping.may_form());
}

TEST(Regrouping, GoesOnAtOnceWithoutThoseThatHaveEnded) {
  Visitors those;
  those.hear(1);
  Comeback back = Visitors::comeback(1);
  back.ended = {NodeRank(2), NodeRank(3)};
  those.regrouping.hear({Visitors::node(1), true, true}, back, those.now);
  EXPECT_TRUE(those.regrouping.may_form());
}

TEST(Regrouping, ForgetsWhoIsLostAgain) {
  Visitors those;
  for (const int rank : {1, 2, 3}) those.hear(rank);
  those.regrouping.lose(Visitors::node(1));
  EXPECT_FALSE(those.regrouping.may_form());
}

TEST(Regrouping, KnowsAMemberOfTheLatestRoundThatHasNotHeardOfIt) {
  Visitors those;
  those.hear(1, true, 6);
  those.hear(2, true, 5);
  those.hear(3, true, 5);
  EXPECT_EQ(those.regrouping.base().round, 6);
  EXPECT_TRUE(those.regrouping.may_form());
}

TEST(Regrouping, GivesOthersSomeTimeToComeIfTheyAreTooFew) {
  Visitors those;
  EXPECT_TRUE(those.regrouping.wait_for_more(those.now));
  EXPECT_TRUE(those.regrouping.wait_for_more(later(those.now, 1s)));
  those.now = those.regrouping.deadline();
  those.regrouping.on_deadline(those.now);
  EXPECT_FALSE(those.regrouping.wait_for_more(those.now));
  EXPECT_EQ(those.regrouping.deadline(), never);
}

}  // namespace launch

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

// As Regrouping asks for a round and the one before: nobody of that was left, or may_run().
bool may_of_old(unsigned old, unsigned present, int absent) {
  return (old == 0 && absent == 0) || may_run({ranks_in(old), {}, ranks_in(old & present), 0, absent});
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

TEST(GivesWay, TheJobWhoseStoreHasMovedLessOften) {
  const MovedJob other{{"n1", 1, launch_local_id}, {{"n1", 40000}, "of n1"}, 2};
  EXPECT_TRUE(gives_way(0, other));
  EXPECT_TRUE(gives_way(1, other));
  EXPECT_FALSE(gives_way(2, other));
  EXPECT_FALSE(gives_way(3, other));
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

// The host ended while it told a round that others have joined, and that some have left. Those who know only the round
// before, and those who know the new one, are never two parts. `left` have gone for good.
TEST(MayRun, IsNeverTrueForThoseWhoKnowARoundAndThoseWhoKnowOnlyTheOneBefore) {
  constexpr unsigned members = 5, newcomers = 3;
  const unsigned all = (1U << members) - 1;
  const unsigned fresh = ((1U << newcomers) - 1) << members;
  for (unsigned left = 0; left <= all; ++left) {
    const unsigned old = all & ~left;
    for (unsigned one = old; one != 0; one = (one - 1) & old) {
      for (unsigned ended = left;; ended = (ended - 1) & left) {
        if (may(all, one, ended)) {
          const unsigned others = (old | fresh) & ~one;
          for (unsigned other = others; other != 0; other = (other - 1) & others)
            ASSERT_FALSE(may(old | fresh, other, 0) && may_of_old(old, other, 0))
                << left << " " << one << " " << ended << " " << other;
        }
        if (ended == 0) break;
      }
    }
  }
}

// The same for the first round of a store to which not all members of the round before have come. Rank 0 hosts it, and
// ends.
TEST(MayRun, IsNeverTrueForThoseWhoKnowTheFirstRoundOfAStoreAndThoseWhoDoNot) {
  constexpr unsigned members = 6, newcomers = 2;
  const unsigned all = (1U << members) - 1;
  const unsigned fresh = ((1U << newcomers) - 1) << members;
  for (unsigned came = 1; came <= all; came += 2) {
    if (!may(all, came, 0)) continue;
    const unsigned old = came & ~1U;
    const int absent = __builtin_popcount(all & ~came);
    const unsigned left = all & ~1U;
    for (unsigned one = left; one != 0; one = (one - 1) & left) {
      if (!may(all, one, 1)) continue;
      const unsigned others = (old | fresh) & ~one;
      for (unsigned other = others; other != 0; other = (other - 1) & others)
        ASSERT_FALSE(may(old | fresh, other, 0) && may_of_old(old, other, absent))
            << came << " " << one << " " << other;
    }
  }
}

// Here nobody has ended: its host, of any rank, was only silent, and those who came were enough without it.
TEST(MayRun, IsNeverTrueForThoseWhoKnowTheFirstRoundAfterASilenceAndThoseWhoDoNot) {
  constexpr unsigned members = 6, newcomers = 2;
  const unsigned all = (1U << members) - 1;
  const unsigned fresh = ((1U << newcomers) - 1) << members;
  for (unsigned came = 1; came <= all; ++came) {
    if (!may(all, came, 0)) continue;
    for (unsigned one = all; one != 0; one = (one - 1) & all) {
      if (!may(all, one, 0)) continue;
      const unsigned others = (came | fresh) & ~one;
      for (unsigned other = others; other != 0; other = (other - 1) & others)
        ASSERT_FALSE(may(came | fresh, other, 0) && may_of_old(came, other, __builtin_popcount(all & ~came)))
            << came << " " << one << " " << other;
    }
  }
}

struct Visitors {
  static NodeDesc node(int rank) { return {"n" + std::to_string(rank), 1, launch_local_id}; }
  // The members of a round of n0 (the host) to n3.
  static Comeback comeback(int rank, std::int64_t round = 5) {
    Comeback back;
    back.last = {0, round, 4, NodeRank(rank), NodeRank(0), node(0), "s", 4, 0, {}};
    for (int heir = 1; heir < 4; ++heir) back.last.line.push_back({NodeRank(heir), node(heir), {{"n", 1}, "n"}});
    back.term = 1;
    back.wait = 10s;
    return back;
  }
  void hear(int rank, bool joins = true, std::int64_t round = 5) {
    regrouping.hear({node(rank), joins, rank == 1}, comeback(rank, round), now);
  }
  // They may form a round now.
  bool form() {
    const auto formed = regrouping.form({3, 1}, now);
    return formed && *formed;
  }
  void pass(Duration time) {
    now = later(now, time);
    regrouping.on_deadline(now);
  }
  Regrouping regrouping;
  Time now = Time(1h);
};

TEST(Regrouping, FormsAtOnceWhenAllHaveCome) {
  Visitors those;
  for (const int rank : {3, 2}) those.hear(rank);
  EXPECT_FALSE(those.form());  // the host has not joined
  those.hear(1);
  EXPECT_TRUE(those.form());
  EXPECT_EQ(those.regrouping.term(), 1);
  EXPECT_EQ(those.regrouping.base().round, 5);
  EXPECT_EQ(those.regrouping.ranks().at(Visitors::node(3)), 3);
}

TEST(Regrouping, WaitsForThoseWhoseWorkersStillRun) {
  Visitors those;
  for (const int rank : {1, 2}) those.hear(rank);
  those.hear(3, false);
  those.pass(10s);
  EXPECT_FALSE(those.form());
  those.hear(3);
  EXPECT_TRUE(those.form());
}

TEST(Regrouping, GoesOnWithoutOneThatIsMissingOnceItsWorkersMustHaveEnded) {
  Visitors those;
  for (const int rank : {1, 2}) those.hear(rank);
  EXPECT_FALSE(those.form());
  EXPECT_EQ(those.regrouping.arrived(), 2);
  EXPECT_EQ(those.regrouping.awaited(), 3);
  ASSERT_EQ(those.regrouping.deadline(), later(those.now, 10s));
  those.pass(10s);
  EXPECT_TRUE(those.form());
  EXPECT_EQ(those.regrouping.deadline(), never);
}

TEST(Regrouping, NeverGoesOnWithLessThanHalf) {
  Visitors those;
  those.hear(1);
  those.pass(10s);
  const auto formed = those.regrouping.form({1, 1}, those.now);
  ASSERT_TRUE(formed.has_value());
  ASSERT_FALSE(*formed);
  EXPECT_EQ(formed->error().message, too_few(1, 3));
}

TEST(Regrouping, GoesOnAtOnceWithoutThoseThatHaveEnded) {
  Visitors those;
  those.hear(1);
  Comeback back = Visitors::comeback(1);
  back.ended = {NodeRank(2), NodeRank(3)};
  those.regrouping.hear({Visitors::node(1), true, true}, back, those.now);
  EXPECT_TRUE(those.form());
}

// ---- a host that may live, with --quorum=majority

Comeback of_silent_host(int rank, Duration wait, int term = 0) {
  Comeback back = Visitors::comeback(rank);
  back.last.term = term;
  back.wait = wait;
  back.limit = 10s;
  back.host_ended = false;
  return back;
}

TEST(Regrouping, CountsAHostThatMayLive) {
  Visitors those;
  for (const int rank : {1, 2})
    those.regrouping.hear({Visitors::node(rank), true, rank == 1}, of_silent_host(rank, 3s), those.now);
  EXPECT_EQ(those.regrouping.awaited(), 4);
  those.pass(3s);
  EXPECT_FALSE(those.form()) << "two of four, without the lowest rank";
  those.regrouping.hear({Visitors::node(3), true, false}, of_silent_host(3, 1s), those.now);
  EXPECT_FALSE(those.form()) << "n3 has heard of the host later than the others";
  those.pass(1s);
  EXPECT_TRUE(those.form());
}

TEST(Regrouping, NeedsTheHostNoMoreOnceOneKnowsOfItsEnd) {
  Visitors those;
  those.regrouping.hear({Visitors::node(1), true, true}, of_silent_host(1, 3s), those.now);
  Comeback knows = of_silent_host(2, 3s);
  knows.host_ended = true;
  those.regrouping.hear({Visitors::node(2), true, false}, knows, those.now);
  EXPECT_EQ(those.regrouping.awaited(), 3);
  EXPECT_FALSE(those.form());
  those.pass(3s);
  EXPECT_TRUE(those.form());
}

TEST(Regrouping, TheHostItselfMayCome) {
  Visitors those;
  for (const int rank : {1, 2, 3, 0})
    those.regrouping.hear({Visitors::node(rank), true, rank == 1}, of_silent_host(rank, 3s), those.now);
  EXPECT_TRUE(those.form()) << "all are here";
}

TEST(Regrouping, GivesUpForGoodWhenNobodyElseCanCome) {
  Visitors those;
  for (const int rank : {1, 2})
    those.regrouping.hear({Visitors::node(rank), true, rank == 1}, of_silent_host(rank, 3s), those.now);
  those.pass(3s);
  EXPECT_FALSE(those.regrouping.form({2, 1}, those.now).has_value());
  ASSERT_EQ(those.regrouping.deadline(), later(those.now, 10s));
  those.pass(10s);
  const auto formed = those.regrouping.form({2, 1}, those.now);
  ASSERT_TRUE(formed && !*formed);
  EXPECT_EQ(formed->error().message, too_few(2, 4));
  those.regrouping.hear({Visitors::node(3), true, false}, of_silent_host(3, 1s), those.now);
  those.pass(60s);
  EXPECT_FALSE(those.form()) << "the others may have gone";
}

TEST(Regrouping, TheRoundOfTheLaterStoreIsTheLaterOne) {
  Visitors those;
  those.regrouping.hear({Visitors::node(1), true, true}, of_silent_host(1, 3s, 2), those.now);
  Comeback elder = of_silent_host(2, 3s, 1);
  elder.last.round = 9;
  those.regrouping.hear({Visitors::node(2), true, false}, elder, those.now);
  EXPECT_EQ(those.regrouping.base().term, 2);
  EXPECT_EQ(those.regrouping.behind().count(Visitors::node(2)), 1U);
}

TEST(Regrouping, ForgetsWhoIsLostAgain) {
  Visitors those;
  for (const int rank : {1, 2, 3}) those.hear(rank);
  those.regrouping.lose(Visitors::node(1), false);
  EXPECT_FALSE(those.form());
}

TEST(Regrouping, DoesNotWaitForThoseWhoHaveEndedHere) {
  for (const bool ended : {false, true}) {
    Visitors those;
    for (const int rank : {1, 2, 3}) those.hear(rank);
    those.regrouping.lose(Visitors::node(3), ended);
    EXPECT_EQ(those.form(), ended);
  }
}

TEST(Regrouping, TellsThoseWhoKnowAnOlderRoundTheBase) {
  Visitors those;
  those.hear(1, true, 6);
  those.hear(2, true, 5);
  those.hear(3, true, 5);
  EXPECT_EQ(those.regrouping.base().round, 6);
  EXPECT_EQ(those.regrouping.behind(), (std::set<NodeDesc>{Visitors::node(2), Visitors::node(3)}));
  EXPECT_EQ(those.regrouping.base_for(Visitors::node(2)).rank, NodeRank(2));
  those.pass(10s);
  EXPECT_FALSE(those.form());
  for (const int rank : {2, 3}) those.hear(rank, true, 6);
  EXPECT_TRUE(those.form());
}

// Eleven members; the line has the first eight without the host.
TEST(Regrouping, CountsMembersBehindTheLineThatDidNotHearOfTheBaseWithoutARank) {
  Visitors those;
  const auto comeback = [](int rank, std::int64_t round) {
    Comeback back = Visitors::comeback(rank, round);
    back.last.nnodes = back.last.old = 11;
    for (int heir = 4; heir < 9; ++heir)
      back.last.line.push_back({NodeRank(heir), Visitors::node(heir), {{"n", 1}, "n"}});
    return back;
  };
  for (int rank = 1; rank < 11; ++rank)
    those.regrouping.hear({Visitors::node(rank), true, rank == 1}, comeback(rank, rank < 9 ? 6 : 5), those.now);
  EXPECT_EQ(those.regrouping.behind().size(), 2U);
  for (const int rank : {9, 10}) {
    Comeback back = comeback(rank, 5);
    back.last = those.regrouping.base_for(Visitors::node(rank));
    EXPECT_EQ(back.last.rank, NodeRank(11));
    those.regrouping.hear({Visitors::node(rank), true, false}, back, those.now);
  }
  EXPECT_TRUE(those.form());
  EXPECT_EQ(those.regrouping.ranks().size(), 8U);
  EXPECT_EQ(those.regrouping.missing(), 2) << "whose ranks are unknown";
}

// With a majority the host may have gone on without a node that was silent.
TEST(Regrouping, DoesNotCountOneThatHasMissedTheBaseIfItIsNotInTheLine) {
  Visitors those;
  for (const int rank : {1, 2})
    those.regrouping.hear({Visitors::node(rank), true, rank == 1}, of_silent_host(rank, 3s), those.now);
  Comeback missed = of_silent_host(3, 3s);
  missed.last.round = 4;
  const NodeDesc stranger = Visitors::node(9);
  those.regrouping.hear({stranger, true, false}, missed, those.now);
  missed.last = those.regrouping.base_for(stranger);
  EXPECT_EQ(missed.last.rank, NodeRank::none());
  those.regrouping.hear({stranger, true, false}, missed, those.now);
  those.pass(3s);
  EXPECT_FALSE(those.form()) << "two of four, without the lowest rank";
}

TEST(Regrouping, WaitsAgainWhenOneComesFromALaterStore) {
  Visitors those;
  those.hear(1);
  those.pass(9s);
  Comeback later_one = Visitors::comeback(2);
  later_one.left = 1;
  those.regrouping.hear({Visitors::node(2), true, false}, later_one, those.now);
  those.pass(2s);
  EXPECT_FALSE(those.form());
  those.pass(8s);
  EXPECT_TRUE(those.form());
}

TEST(Regrouping, IsNotAskedWhereTheHostComesFromNoOtherStore) {
  Visitors those;
  those.hear(2);
  EXPECT_TRUE(those.regrouping.active());
  those.regrouping.hear({Visitors::node(1), true, true}, std::nullopt, those.now);
  EXPECT_FALSE(those.regrouping.active());
}

TEST(Regrouping, GivesOthersSomeTimeToComeIfTheyAreTooFew) {
  Visitors those;
  for (const int rank : {1, 2, 3}) those.hear(rank);
  const auto form = [&] { return those.regrouping.form({3, 4}, those.now); };
  EXPECT_FALSE(form().has_value());
  those.pass(1s);
  EXPECT_FALSE(form().has_value());
  those.now = std::max(those.now, those.regrouping.deadline());
  those.regrouping.on_deadline(those.now);
  ASSERT_TRUE(form().has_value());
  EXPECT_FALSE(*form());
}

}  // namespace launch

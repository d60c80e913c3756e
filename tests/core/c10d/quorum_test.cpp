#include "launch/core/c10d/quorum.hpp"

#include "launch/core/rendezvous/liveness.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace launch::quorum_test {

using namespace std::chrono_literals;

constexpr Time start{std::chrono::hours(1)};
constexpr Duration lease = 6s;

NodeDesc node(int number) { return {"n" + std::to_string(number), 1, launch_local_id}; }

std::vector<NodeDesc> nodes(int count) {
  std::vector<NodeDesc> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all.push_back(node(i));
  return all;
}

// n0 hosts the store.
struct Host {
  explicit Host(int count = 4) : all(nodes(count)) {
    quorum.set_lease(lease);
    quorum.set_self(all[0]);
    form(all);
    settle(all);
  }
  void form(const std::vector<NodeDesc>& members) { quorum.form(members, now); }
  bool settle(const std::vector<NodeDesc>& members) {
    bool settled = false;
    for (const NodeDesc& one : members) settled = quorum.knows_round(one);
    return settled;
  }
  // Each of them beats, and is answered.
  void beat(const std::vector<int>& those) {
    for (const int one : those) {
      quorum.beat(all[static_cast<std::size_t>(one)]);
      quorum.answer(all[static_cast<std::size_t>(one)], now);
    }
  }
  bool may_form(const std::vector<int>& those) const {
    std::vector<const NodeDesc*> present;
    present.reserve(those.size());
    for (const int one : those) present.push_back(&all[static_cast<std::size_t>(one)]);
    return quorum.may_form(present);
  }
  bool answers(int one) { return quorum.may_answer(all[static_cast<std::size_t>(one)], now); }

  std::vector<NodeDesc> all;
  Quorum quorum;
  Time now = start;
};

TEST(Quorum, OnlyEnoughMembersOfTheLastRoundFormTheNext) {
  const Host host;
  EXPECT_TRUE(host.may_form({0, 1}));
  EXPECT_TRUE(host.may_form({1, 2, 3}));
  EXPECT_FALSE(host.may_form({2, 3}));
  EXPECT_FALSE(host.may_form({0}));
}

TEST(Quorum, ARoundThatIsNotSettledDoesNotMakeThemFewer) {
  Host host;
  host.form({host.all[0], host.all[1]});
  EXPECT_FALSE(host.may_form({0}));
  EXPECT_TRUE(host.settle({host.all[1], host.all[0]}));
  EXPECT_TRUE(host.may_form({0}));
  EXPECT_FALSE(host.may_form({1, 2, 3}));
}

TEST(Quorum, AllRoundsSinceTheSettledOneCount) {
  Host host(5);
  host.form({host.all[0], host.all[1], host.all[2]});
  host.form({host.all[0], host.all[1], host.all[3]});
  EXPECT_FALSE(host.may_form({2, 3, 4})) << "one of the first, one of the second";
  EXPECT_TRUE(host.may_form({0, 1, 3}));
}

TEST(Quorum, ThoseThatHaveEndedDoNotCount) {
  Host host;
  host.quorum.end(host.all[0]);
  EXPECT_TRUE(host.may_form({1, 2})) << "two of three";
  EXPECT_FALSE(host.may_form({1}));
  host.quorum.end(host.all[3]);
  EXPECT_TRUE(host.may_form({1})) << "half of those who may live, with the lowest rank of them";
  EXPECT_FALSE(host.may_form({2}));
}

TEST(Quorum, ThoseThatHaveEndedAreNotNeededIfNobodyElseMayLive) {
  Host host;
  for (const int one : {1, 2, 3}) host.quorum.end(host.all[static_cast<std::size_t>(one)]);
  EXPECT_TRUE(host.may_form({0}));
}

TEST(Quorum, TheNextRoundIsToldWhoMayLiveElsewhere) {
  Host host;
  const auto past = host.quorum.past_of({host.all[0], host.all[2], node(9)});
  EXPECT_EQ(past.old, 2);
  EXPECT_EQ(past.missing, 2);
}

TEST(Quorum, AnswersAsLongAsEnoughNodesHaveReadWhatItSent) {
  Host host;
  for (int beats = 0; beats < 20; ++beats) {
    host.now += 2s;
    host.beat({1, 2, 3});
    EXPECT_TRUE(host.answers(1)) << beats;
  }
  const Time cut = host.now;
  while (host.now < later(cut, 20s)) {
    host.now += 1s;
    if (host.now > later(cut, lease)) {
      EXPECT_FALSE(host.answers(1)) << to_text(host.now - cut);
    }
  }
  EXPECT_FALSE(host.answers(0)) << "its own agent is not told either";
  host.beat({1});
  host.now += 1s;
  EXPECT_FALSE(host.answers(1)) << "n1 has read only what was sent before the cut";
  host.now += 1s;
  host.beat({1});
  EXPECT_TRUE(host.answers(1)) << "two of four, with the lowest rank";
}

// A beat shows that the answer before was read, and no more than that: the answer to it may be lost.
TEST(Quorum, ABeatThatComesLateIsNoReceiptOfItsAnswer) {
  Host host(3);
  host.now += 2s;
  host.beat({1, 2});
  host.now += 5s;
  host.beat({1, 2});
  EXPECT_TRUE(host.answers(1));
  host.now += 2s;
  EXPECT_FALSE(host.answers(1));
}

TEST(Quorum, WithoutALeaseNothingIsKept) {
  Quorum none;
  none.take_over(Electorate(nodes(5)));
  none.form(nodes(3), start);
  EXPECT_EQ(none.past_of(nodes(2)).missing, 0);
  const NodeDesc only = node(4);
  EXPECT_TRUE(none.may_form({&only}));
  EXPECT_FALSE(none.knows_round(node(0)));
}

TEST(Quorum, ANodeThatHasBeenElsewhereCountsNoMore) {
  Host host;
  host.quorum.disown(host.all[1]);
  EXPECT_FALSE(host.may_form({0, 1}));
  EXPECT_TRUE(host.may_form({0, 1, 2})) << "without it two of four, with the lowest rank";
}

TEST(Quorum, AConnectionSaysNothingOfTheOneBefore) {
  Host host(3);
  host.now += 5s;
  for (const int one : {1, 2}) host.quorum.answer(host.all[static_cast<std::size_t>(one)], host.now);
  for (const int one : {1, 2}) host.quorum.connect(host.all[static_cast<std::size_t>(one)]);
  host.beat({1, 2});
  host.now += 2s;
  EXPECT_FALSE(host.answers(1));
}

TEST(Quorum, BeforeItsFirstRoundIsSettledAHostAnswersAll) {
  Quorum quorum;
  quorum.set_lease(lease);
  EXPECT_TRUE(quorum.may_answer(node(1), start));
  quorum.take_over(Electorate(nodes(3)));
  EXPECT_TRUE(quorum.may_answer(node(1), start));
}

// The host, and a node of the other part, which both have heard of n1 or were heard by it. Whatever is lost or late:
// when the other part may count n1, nobody whom the host has answered has workers.
TEST(Quorum, NobodyHasWorkersWhenANodeOfTheMajorityMayGoOnElsewhere) {
  for (const Duration timeout : {Duration(1s), Duration(10s), Duration(60s)})
    for (const int count : {3, 100, 10'000}) {
      const Heartbeat plan = plan_heartbeat(timeout, count, Allegiance::majority);
      const LeasePlan terms = plan_lease(timeout, count);
      // The host sends something at `sent`, and n1 reads it, not before that. By the lease it answers others until
      // `sent` + answers, who asked not later than that.
      EXPECT_LT(terms.answers + longest_unanswered(timeout, count), terms.others) << to_text(timeout) << ", " << count;
      EXPECT_GT(longest_unanswered(timeout, count), plan.interval + plan.patience + plan.grace)
          << "its agent comes first";
      EXPECT_GE(terms.answers, plan.interval * 2) << "else a healthy host would fall silent";
    }
}

TEST(Quorum, OthersGoOnAfterOneTimeOutOfASmallJob) {
  for (const Duration timeout : {Duration(1s), Duration(10s), Duration(60s)})
    EXPECT_LE(plan_lease(timeout, 20).others, timeout * 11 / 10);
}

}  // namespace launch::quorum_test

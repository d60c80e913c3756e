#include "launch/core/hosts/gathering.hpp"

#include "head_driver.hpp"

#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::gathering_test {

using namespace std::chrono_literals;
using heads::busy_login;
using heads::Driver;
using heads::lost_to;
using heads::nothing_started;
using heads::plan_of;
using heads::ready_with;
using heads::windowed;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

// ---- the window of connections

TEST(Gathering, ASlotIsGivenOnAtOnceHoweverItsHostIsThrough) {
  Driver d(windowed(6, 2));
  EXPECT_THAT(d.connected(), ElementsAre(0, 1));
  EXPECT_THAT(d.greet(1).connected(), ElementsAre(2)) << "n1 is slow, and nobody waits for it";
  EXPECT_THAT(d.lose(2).connected(), ElementsAre(3));
  EXPECT_THAT(d.babble(3).connected(), ElementsAre(4));
  EXPECT_THAT(d.greet(4, "1.3").connected(), ElementsAre(5));
  EXPECT_THAT(d.greet(5).connected(), IsEmpty());
}

TEST(Gathering, AHostThatDoesNotGreetGivesItsSlotUp) {
  Driver d(windowed(2, 1));
  EXPECT_EQ(d.head.deadline(), d.now + 5s) << "beats";
  EXPECT_THAT(d.wait(29s).connected(), IsEmpty());
  d.wait(1s);
  EXPECT_THAT(d.left(), ElementsAre(0));
  EXPECT_THAT(d.connected(), ElementsAre(1));
  EXPECT_THAT(d.lose(0).connected(), IsEmpty()) << "it has been given up already";
}

// ---- a login that is busy

TEST(Gathering, ABusyLoginIsTriedAgainALittleLaterAndLaterEachTimeUpToALimit) {
  std::set<Duration> delays;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Driver d(plan_of(1), seed);
    for (int tries = 1; tries < 6; ++tries) {
      EXPECT_THAT(d.lose(0, busy_login()).last, IsEmpty());
      Duration waited{};
      while (d.connected().empty()) {
        ASSERT_GT(d.head.deadline(), d.now);
        waited += d.head.deadline() - d.now;
        d.wait(d.head.deadline() - d.now);
      }
      EXPECT_GE(waited, 500ms);
      EXPECT_LT(waited, tries * 1s + 1s);
      delays.insert(waited);
    }
    EXPECT_THAT(d.lose(0, busy_login()).code(), Optional(1));
    EXPECT_THAT(d.said(), ElementsAre(HasSubstr("n1: "), HasSubstr(nothing_started)));
  }
  EXPECT_GT(delays.size(), 90U) << "many hosts do not come back at the same moment";
}

TEST(Gathering, OnlyABusyLoginIsTriedAgain) {
  Driver d(plan_of(1));
  EXPECT_THAT(d.lose(0, lost_to("ssh: connect to host n1 port 22: Connection refused\n")).code(), Optional(1));
  Driver greeted(plan_of(1));
  greeted.greet(0);
  EXPECT_THAT(greeted.lose(0, busy_login()).code(), Optional(1)) << "its launch was there already";
}

TEST(Gathering, ARetryThatIsDueWaitsForASlotAndSpinsNot) {
  Driver d(windowed(2, 1));
  EXPECT_THAT(d.lose(0, busy_login()).connected(), ElementsAre(1)) << "the next one has its slot";
  d.wait(10s);
  EXPECT_THAT(d.connected(), IsEmpty());
  EXPECT_GT(d.head.deadline(), d.now);
  EXPECT_THAT(d.greet(1).connected(), ElementsAre(0));
}

// ---- greeting and job

TEST(Gathering, AnotherVersionTakesNoPart) {
  Driver d(plan_of(2));
  d.greet(0, "1.3");
  EXPECT_THAT(d.left(), ElementsAre(0));
  EXPECT_THAT(d.told<NodeJob>(), IsEmpty());
  d.greet(1);
  d.say(1, ready_with({"10.0.0.2"}, "b"));
  EXPECT_THAT(d.said(), ElementsAre("n1: has launch 1.3, this is 1.4: the same version on all hosts, please",
                                    "1 of 2 hosts cannot take part, so nothing was started"));
  EXPECT_THAT(d.code(), Optional(1));
}

TEST(Gathering, WhoeverGreetsIsToldItsJob) {
  HeadPlan plan = plan_of(2);
  plan.nodes[1].options = {"--nproc-per-node=4"};
  plan.nodes[1].env = {"CUDA_VISIBLE_DEVICES=0,2"};
  plan.keeps_output = true;
  plan.port = 4000;
  Driver d(plan);
  const auto job = d.greet(1).told<NodeJob>(1);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->node, 1);
  EXPECT_EQ(job->nodes, 2);
  EXPECT_THAT(job->args, testing::IsSupersetOf({"--quiet", "--nproc-per-node=4", "--node-rank=1", "train.py"}));
  EXPECT_THAT(job->env, ElementsAre("A=1", "CUDA_VISIBLE_DEVICES=0,2"));
  EXPECT_EQ(job->folder, "/work");
  EXPECT_EQ(job->umask, 027);
  EXPECT_TRUE(job->keeps_output);
  EXPECT_EQ(job->port, 4000);
  EXPECT_EQ(job->token, "run");
  EXPECT_EQ(job->silence_ms, 15'000);
  const auto first = d.greet(0).told<NodeJob>(0);
  EXPECT_THAT(first->env, ElementsAre("A=1"));
  EXPECT_THAT(first->args, testing::Not(testing::Contains("--nproc-per-node=4")));
}

// ---- hosts that start others

// n1 and n2 are started by the head, n3 and n5 by n1, n4 and n6 by n2.
HeadPlan tree() {
  HeadPlan plan = windowed(6, 2);
  for (const std::size_t node : {2U, 3U, 4U, 5U}) plan.nodes[node].starter = static_cast<int>(node % 2);
  return plan;
}

std::vector<std::pair<int, int>> connected_by(const Driver& d) {
  std::vector<std::pair<int, int>> connected;
  for (const auto& one : d.all<ConnectHost>()) connected.emplace_back(one.node, one.starter);
  return connected;
}

TEST(Gathering, AHostThatHasGreetedStartsItsOwn) {
  Driver d(tree());
  EXPECT_THAT(d.connected(), ElementsAre(0, 1));
  EXPECT_THAT(connected_by(d.greet(1)), ElementsAre(Pair(3, 1), Pair(5, 1)));
  EXPECT_THAT(connected_by(d.greet(0)), ElementsAre(Pair(2, 0), Pair(4, 0)));
  d.greet(2).greet(3).greet(4).greet(5);
  for (int i = 0; i < 6; ++i) d.say(i, ready_with({"10.0.0.1"}, "boot" + std::to_string(i)));
  EXPECT_THAT(d.told<ReachQuestion>(), ElementsAre(1, 2, 3, 4, 5));
}

TEST(Gathering, EachStarterHasAWindowOfItsOwn) {
  HeadPlan plan = windowed(5, 2);
  for (const std::size_t node : {1U, 2U, 3U, 4U}) plan.nodes[node].starter = 0;
  Driver d(plan);
  EXPECT_THAT(d.connected(), ElementsAre(0));
  EXPECT_THAT(connected_by(d.greet(0)), ElementsAre(Pair(1, 0), Pair(2, 0)));
  EXPECT_THAT(connected_by(d.greet(2)), ElementsAre(Pair(3, 0)));
  EXPECT_GT(d.head.deadline(), d.now) << "n5 waits for a slot, and nothing spins";
}

TEST(Gathering, WhatAStarterCannotTheHeadTries) {
  Driver d(tree());
  d.greet(0);
  EXPECT_THAT(connected_by(d.lose(2, lost_to("root@n3: Permission denied (publickey).\n"))),
              ElementsAre(Pair(2, started_by_head)))
      << "it may have the key";
  EXPECT_THAT(d.lose(2, lost_to("root@n3: Permission denied (publickey).\n")).last, IsEmpty());
  d.greet(1).greet(3).greet(4).greet(5);
  for (const int i : {0, 1, 3, 4, 5}) d.say(i, ready_with({"10.0.0.1"}, "boot" + std::to_string(i)));
  EXPECT_THAT(d.said(), ElementsAre(HasSubstr("n3: "), "1 of 6 hosts cannot take part, so nothing was started"));
}

TEST(Gathering, WhatTakesTooLongThereTheHeadTries) {
  Driver d(tree());
  d.greet(0).greet(1).greet(3).greet(4).greet(5);
  d.wait(30s);
  EXPECT_THAT(d.left(), ElementsAre(2)) << "its login hangs";
  EXPECT_THAT(d.said(), IsEmpty());
  EXPECT_THAT(connected_by(d.lose(2)), ElementsAre(Pair(2, started_by_head)));
}

TEST(Gathering, AStarterThatDoesNotEndAConnectionIsNotWaitedForForEver) {
  Driver d(tree());
  d.greet(0).greet(1).greet(3).greet(4).greet(5);
  d.wait(30s).wait(5s);
  for (const int i : {0, 1, 3, 4, 5}) d.say(i, ready_with({"10.0.0.1"}, "boot" + std::to_string(i)));
  EXPECT_THAT(d.said(), ElementsAre(HasSubstr("n3: launch did not answer"), HasSubstr("1 of 6 hosts")));
}

TEST(Gathering, HostsOfAStarterThatIsNotThereAreTheHeads) {
  Driver d(tree());
  d.greet(1);
  EXPECT_THAT(connected_by(d.lose(0, lost_to("ssh: connect to host n1 port 22: Connection refused\n"))),
              ElementsAre(Pair(2, started_by_head), Pair(4, started_by_head)));
}

TEST(Gathering, AStarterThatTakesNoPartCarriesWhatItHasMade) {
  Driver d(tree());
  d.greet(0).greet(2);
  d.say(0, NodeCannot{"/work is not there", 2});
  EXPECT_THAT(d.left(), IsEmpty()) << "n3 has answered nothing yet";
  d.wait(5s);
  EXPECT_THAT(d.told<HostBeat>(), ElementsAre(0, 2)) << "and it must know that the head lives";
  d.greet(1).greet(3).greet(4).greet(5);
  for (const int i : {1, 2, 3, 4, 5}) d.say(i, NodeCannot{"/work is not there", 2});
  EXPECT_THAT(d.said(), ElementsAre(HasSubstr("n[1-6]: /work is not there"), HasSubstr(nothing_started)));
}

TEST(Gathering, OnlyTheHeadCopiesThisProgram) {
  HeadPlan plan = tree();
  plan.may_copy = true;
  Driver d(plan);
  d.greet(0).greet(2, "1.3");
  EXPECT_THAT(d.left(), ElementsAre(2));
  d.lose(2);
  const auto again = d.all<ConnectHost>();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_TRUE(again[0].copies);
  EXPECT_EQ(again[0].starter, started_by_head);
}

}  // namespace launch::gathering_test

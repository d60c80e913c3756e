// torchrun's agents in a job whose store a launch agent hosts: they read and write the key of the state.
#include "launch/core/c10d/membership.hpp"

#include "membership_driver.hpp"

#include <gmock/gmock.h>

namespace launch::membership_torchrun_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Cause = RoundBroken::Cause;

constexpr ConnectionId foreign = 100;  // a torchrun agent's connection

// With t's heartbeats, as it writes them.
void pass_alive(MembershipDriver& job, Duration duration) {
  for (const Time end = job.time + duration; job.time < end;) {
    job.keep_alive(foreign, theirs("t"));
    job.pass(std::min<Duration>(5s, end - job.time));
  }
}

// n1 and t are in round 0, and n1 waits for its end.
void form_mixed(MembershipDriver& job) {
  job.join(1);
  job.enter(foreign, theirs("t"));
  pass_alive(job, 30s);
  ASSERT_NE(job.only<RoundFormed>(1), nullptr);
  job.stay(1, 0);
  job.pass(3s);
}

TEST(MembershipTorchrun, ARoundThatItCompletesHasOurOrderOfRanks) {
  MembershipDriver job(2, 2);
  job.join(1);
  const ElasticState there = job.enter(foreign, theirs("a"));
  EXPECT_TRUE(there.complete);
  EXPECT_EQ(there.participants.at(theirs("a")), 0);
  const auto* formed = job.only<RoundFormed>(1);
  ASSERT_NE(formed, nullptr);
  EXPECT_EQ(formed->rank, NodeRank(1));
  EXPECT_EQ(formed->leader, theirs("a"));
  EXPECT_THAT(formed->torchrun, ElementsAre(NodeRank(0)));
  EXPECT_FALSE(formed->assignment) << "torchrun has to be asked for the number of its workers";
}

TEST(MembershipTorchrun, RankZeroStaysWhereItWasWhateverTorchrunWrites) {
  MembershipDriver job(2, 2);
  job.join(1);
  job.enter(foreign, theirs("z"));
  job.take(1);
  job.stay(1, 0);
  job.pass(3s);
  job.drop(foreign);
  EXPECT_EQ(job.reason(1), "z (pid 1) has left");
  job.join(1, 0);
  const ElasticState there = job.enter(foreign + 1, theirs("a"));
  EXPECT_TRUE(there.complete);
  EXPECT_EQ(there.participants.at(ours("n1")), 0) << "it wrote 1";
  EXPECT_EQ(job.rank(1), 0);
}

TEST(MembershipTorchrun, ItIsInTheLastCallAsAnyNode) {
  MembershipDriver job(2, 3);
  job.enter(foreign, theirs("t"));
  job.join(1);
  EXPECT_TRUE(job.read().deadline);
  pass_alive(job, 30s);
  const ElasticState there = job.read();
  EXPECT_TRUE(there.complete);
  EXPECT_EQ(there.participants.size(), 2U);
  EXPECT_EQ(job.rank(1), 0);
}

TEST(MembershipTorchrun, ItsExitBreaksTheRoundAndItsReturnIsAwaited) {
  MembershipDriver job(2, 2);
  form_mixed(job);
  job.exit(foreign, theirs("t"));
  const auto* broken = job.only<RoundBroken>(1);
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->reason, "t (pid 1) restarts");
  EXPECT_EQ(broken->cause, Cause::change);
  job.join(1, 0);
  job.join(2);
  EXPECT_TRUE(job.silent(1) && job.silent(2)) << "the place is the torchrun agent's";
  EXPECT_EQ(job.enter(foreign, theirs("t")).round, 1);
  EXPECT_EQ(job.rank(1), 0);
  EXPECT_TRUE(job.look(2).spare);
}

TEST(MembershipTorchrun, WhatItHasLeftForGoodIsTakenByOthers) {
  MembershipDriver job(2, 2);
  form_mixed(job);
  job.exit(foreign, theirs("t"));
  job.take(1);
  job.join(1, 0);
  job.join(2);
  job.drop(foreign);
  EXPECT_EQ(job.rank(1), 0);
  EXPECT_EQ(job.rank(2), 1);
}

TEST(MembershipTorchrun, ANewcomerOnTheWaitListBreaksTheRound) {
  MembershipDriver job(1, 3);
  job.form(2);
  job.write(foreign, [&](ElasticState& state) {
    state.wait_list.insert(theirs("t"));
    state.last_heartbeats[theirs("t")] = job.instant().wall;
  });
  EXPECT_EQ(job.reason(1), "t (pid 1) joins");
  EXPECT_EQ(job.reason(2), "t (pid 1) joins");
  job.join(1, 0);
  job.join(2, 0);
  EXPECT_TRUE(job.silent(1)) << "t is about to enter";
  EXPECT_TRUE(job.enter(foreign, theirs("t")).complete);
  const auto* formed = job.only<RoundFormed>(1);
  ASSERT_NE(formed, nullptr);
  EXPECT_THAT(formed->torchrun, ElementsAre(NodeRank(2)));
}

TEST(MembershipTorchrun, ARoundThatHasBrokenUpHasFormedForWhoDidNotWaitForIt) {
  MembershipDriver job(1, 3);
  job.join(1);
  job.stop_waiting(1);
  job.enter(foreign, theirs("t"));
  pass_alive(job, 30s);
  job.write(foreign + 1, [&](ElasticState& state) {
    state.wait_list.insert(theirs("u"));
    state.last_heartbeats[theirs("u")] = job.instant().wall;
  });
  job.join(1);
  const auto* formed = job.only<RoundFormed>(1);
  ASSERT_NE(formed, nullptr) << "t waits for what n1 says of the round";
  EXPECT_EQ(formed->round, 0);
  EXPECT_THAT(formed->torchrun, ElementsAre(NodeRank(1)));
  job.stay(1, 0);
  EXPECT_EQ(job.reason(1), "u (pid 1) joins");
}

TEST(MembershipTorchrun, ItIsGoneWithItsConnection) {
  MembershipDriver job(1, 2);
  form_mixed(job);
  job.drop(foreign);
  const auto* broken = job.only<RoundBroken>(1);
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->reason, "t (pid 1) has left");
  EXPECT_EQ(broken->cause, Cause::loss);
  EXPECT_FALSE(job.read().participants.contains(theirs("t")));
}

TEST(MembershipTorchrun, WithoutHeartbeatsItIsDeadWhenTheSilenceIsOver) {
  MembershipDriver job(1, 2);
  form_mixed(job);
  job.keep_alive(foreign, theirs("t"));
  job.pass(10s);
  job.keep_alive(foreign, theirs("t"));
  job.pass(14s);
  EXPECT_TRUE(job.silent(1));
  job.pass(1s);
  EXPECT_EQ(job.reason(1), "t (pid 1) stopped responding");
  EXPECT_EQ(job.membership.deadline(), never);
  job.drop(foreign);
  EXPECT_TRUE(job.silent(1));
}

TEST(MembershipTorchrun, WhatItMayNotHaveSeenCompleteStaysSo) {
  MembershipDriver job(3, 3);
  job.join(1);
  job.join(2);
  job.enter(foreign, theirs("t"));
  ASSERT_EQ(job.rank(1), 0);
  job.take(2);
  job.stay(2, 0);
  job.pass(500ms);
  job.join(1, 0);
  job.drop(2);
  EXPECT_TRUE(job.read().complete);
  EXPECT_EQ(job.read().participants.size(), 3U);
  job.pass(1400ms);
  EXPECT_EQ(job.read().participants.size(), 3U);
  job.pass(100ms);
  const ElasticState there = job.read();
  EXPECT_EQ(there.participants.size(), 1U);
  EXPECT_TRUE(there.wait_list.contains(ours("n1")));
  EXPECT_FALSE(there.last_heartbeats.contains(ours("n2")));
  EXPECT_TRUE(job.silent(1));
}

TEST(MembershipTorchrun, ItTakesANodeOfOursForDeadThatLives) {
  MembershipDriver job(1, 2);
  form_mixed(job);
  job.exit(foreign, ours("n1"));
  EXPECT_EQ(job.reason(1), "n1 (pid 1) stopped responding");
  job.join(1, 0);
  EXPECT_TRUE(job.read().wait_list.contains(ours("n1")));
}

TEST(MembershipTorchrun, TheHeartbeatsOfLaunchNodesAreFresh) {
  MembershipDriver job(2, 2);
  job.form(2);
  const std::string first = job.membership.text(job.instant());
  job.pass(4900ms);
  EXPECT_EQ(job.membership.text(job.instant()), first) << "byte for byte, or no compare-and-set would ever do";
  job.pass(100ms);
  const ElasticState there = job.read();
  EXPECT_NE(job.membership.text(job.instant()), first);
  EXPECT_EQ(there.last_heartbeats.at(ours("n1")), job.instant().wall);
  EXPECT_EQ(there.last_heartbeats.at(ours("n2")), job.instant().wall);
  EXPECT_EQ(there.last_heartbeats.size(), 2U);
}

TEST(MembershipTorchrun, TheyAreFresherWhereTorchrunsLimitIsShort) {
  MembershipDriver job(2, 2);
  job.silence = 3s;
  job.form(2);
  const std::string first = job.membership.text(job.instant());
  job.pass(999ms);
  EXPECT_EQ(job.membership.text(job.instant()), first);
  job.pass(1ms);
  EXPECT_EQ(job.read().last_heartbeats.at(ours("n1")), job.instant().wall);
}

TEST(MembershipTorchrun, WhatHappensIsReadAtOnce) {
  MembershipDriver job(2, 3);
  job.join(1);
  const std::string first = job.membership.text(job.instant());
  job.join(2);
  EXPECT_NE(job.membership.text(job.instant()), first);
  EXPECT_EQ(job.read().participants.size(), 2U);
}

TEST(MembershipTorchrun, GarbageHasNoEffect) {
  MembershipDriver job(2, 2);
  job.join(1);
  const std::string text = job.membership.text(job.instant());
  for (const std::string garbage : {"", "x", "Y2FuaW1hZGF", "AAAA"}) {
    EXPECT_FALSE(job.membership.adopt(foreign, garbage, job.instant()));
    job.listen();
  }
  EXPECT_TRUE(job.silent(1));
  EXPECT_EQ(job.membership.text(job.instant()), text);
  job.join(2);
  EXPECT_EQ(job.rank(1), 0);
}

TEST(MembershipTorchrun, WhatNoAgentMakesOfTheStateHasNoEffect) {
  MembershipDriver job(2, 2);
  ElasticState of_nobody;
  of_nobody.complete = true;
  EXPECT_FALSE(job.membership.adopt(foreign, write_state(of_nobody), job.instant()));
  job.form(2);
  job.join(3);
  ElasticState with_more = job.read();
  with_more.participants[ours("n3")] = 2;
  EXPECT_FALSE(job.membership.adopt(foreign, write_state(with_more), job.instant()));
  ElasticState later_round = job.read();
  ++later_round.round;
  EXPECT_FALSE(job.membership.adopt(foreign, write_state(later_round), job.instant()));
  job.stop_waiting(3);
  job.join(3);
  EXPECT_TRUE(job.silent(1) && job.silent(2) && job.silent(3));
}

TEST(MembershipTorchrun, ALastCallForFewerThanWeTakeDoesNotRing) {
  MembershipDriver job(2, 3);
  job.join(1);
  job.write(foreign, [&](ElasticState& state) { state.deadline = job.instant().wall; });
  EXPECT_EQ(job.membership.deadline(), never);
  job.pass(1h);
  EXPECT_TRUE(job.silent(1));
}

TEST(MembershipTorchrun, ItCloses) {
  MembershipDriver job(2, 2);
  job.join(1);
  job.write(foreign, [](ElasticState& state) { state.closed = true; });
  const auto* refused = job.only<RoundRefused>(1);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->error.code, ErrorCode::closed);
}

}  // namespace launch::membership_torchrun_test

// Launch agents among themselves; with torchrun's, membership_torchrun_test.
#include "launch/core/c10d/membership.hpp"

#include "membership_driver.hpp"

#include <gmock/gmock.h>

namespace launch::membership_test {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Cause = RoundBroken::Cause;

TEST(Membership, ARoundFormsAtOnceWhenTheMaximumIsIn) {
  MembershipDriver job(2, 3);
  job.join(2);
  job.join(1);
  EXPECT_TRUE(job.silent(1) && job.silent(2));
  job.join(3);
  for (const ConnectionId node : {1U, 2U, 3U}) {
    const auto* formed = job.only<RoundFormed>(node);
    ASSERT_NE(formed, nullptr);
    EXPECT_EQ(formed->rank, NodeRank(static_cast<int>(node) - 1)) << "the names decide, not who was first";
    EXPECT_EQ(formed->round, 0);
    EXPECT_EQ(formed->nnodes, 3);
    EXPECT_EQ(formed->leader, ours("n1"));
    EXPECT_TRUE(formed->torchrun.empty());
  }
  EXPECT_EQ(job.membership.deadline(), never);
}

TEST(Membership, WithTheMinimumItCallsLast) {
  MembershipDriver job(1, 3);
  job.join(1);
  EXPECT_EQ(job.membership.deadline(), job.time + 30s);
  job.pass(20s);
  job.join(2);
  EXPECT_EQ(job.membership.deadline(), job.time + 10s) << "one last call, whoever comes";
  job.pass(9s);
  EXPECT_TRUE(job.silent(1));
  job.pass(1s);
  EXPECT_EQ(job.rank(1), 0);
  EXPECT_EQ(job.rank(2), 1);
}

TEST(Membership, TheLastCallIsTakenBackBelowTheMinimum) {
  MembershipDriver job(2, 3);
  job.join(1);
  job.join(2);
  job.drop(2);
  EXPECT_EQ(job.membership.deadline(), never);
  job.pass(1h);
  EXPECT_TRUE(job.silent(1));
  job.join(3);
  EXPECT_EQ(job.membership.deadline(), job.time + 30s);
}

TEST(Membership, WhoIsOneTooManyStandsByInOrderOfArrival) {
  MembershipDriver job(2, 2);
  job.form(2);
  job.join(9);
  job.join(8);
  job.pass(1h);
  EXPECT_TRUE(job.silent(8) && job.silent(9));
  EXPECT_TRUE(job.look(8).spare);
  EXPECT_EQ(job.membership.state().redundancy_list.size(), 2U);
  job.drop(1);
  EXPECT_EQ(job.reason(2), "n1 (pid 1) left without a report");
  EXPECT_TRUE(job.membership.state().wait_list.contains(ours("n9")));
  job.join(2, 0);
  EXPECT_EQ(job.rank(2), 0) << "who was in before goes first";
  EXPECT_EQ(job.rank(9), 1);
  EXPECT_TRUE(job.silent(8));
}

TEST(Membership, ALostMemberBreaksTheRoundForAllAndTheRestGoesOnAtOnce) {
  MembershipDriver job(2, 4);
  job.form(4);
  job.drop(2, true);
  for (const ConnectionId node : {1U, 3U, 4U}) {
    const auto* broken = job.only<RoundBroken>(node);
    ASSERT_NE(broken, nullptr);
    EXPECT_EQ(broken->reason, "n2 (pid 1) stopped responding");
    EXPECT_EQ(broken->cause, Cause::loss);
    EXPECT_EQ(broken->gone, NodeRank(1));
  }
  job.drop(3);
  EXPECT_TRUE(job.silent(1) && job.silent(4)) << "they know";
  job.join(5);
  job.join(4, 0);
  EXPECT_TRUE(job.silent(4)) << "n1 has yet to leave the round";
  job.join(1, 0);
  EXPECT_EQ(job.rank(1), 0) << "no last call";
  EXPECT_EQ(job.rank(4), 1);
  const auto* formed = job.only<RoundFormed>(5);
  ASSERT_NE(formed, nullptr);
  EXPECT_EQ(formed->rank, NodeRank(2)) << "newcomers are behind";
  EXPECT_EQ(formed->round, 1);
}

TEST(Membership, RankZeroStaysWhereItWas) {
  MembershipDriver job(2, 2);
  job.form(2);
  job.drop(1);
  job.take(2);
  job.join(2, 0);
  Attendance another = job.said(Attendance::Wish::join, "n1");
  another.node.pid = 2;
  job.attend(1, another);
  EXPECT_EQ(job.rank(2), 0);
  EXPECT_EQ(job.rank(1), 1);
}

TEST(Membership, BelowTheMinimumTheNextRoundWaitsAndCallsLast) {
  MembershipDriver job(2, 3);
  job.form(3);
  job.drop(1);
  job.drop(2);
  EXPECT_NE(job.only<RoundBroken>(3), nullptr);
  job.join(3, 0);
  job.pass(1h);
  EXPECT_TRUE(job.silent(3));
  job.join(4);
  job.pass(29s);
  EXPECT_TRUE(job.silent(3) && job.silent(4));
  job.pass(1s);
  EXPECT_EQ(job.rank(3), 0);
  EXPECT_EQ(job.rank(4), 1);
}

TEST(Membership, ANewcomerBreaksTheRoundWhereThereIsRoom) {
  MembershipDriver job(1, 3);
  job.form(2);
  job.join(3);
  EXPECT_EQ(job.reason(1), "n3 (pid 1) joins");
  EXPECT_EQ(job.reason(2), "n3 (pid 1) joins");
  job.join(1, 0);
  job.join(2, 0);
  EXPECT_EQ(job.rank(3), 2);
}

TEST(Membership, ANewcomerWaitsWhereAMemberWantsNobody) {
  MembershipDriver job(1, 3);
  job.admits = false;
  job.form(2);
  job.join(3);
  job.pass(1h);
  EXPECT_TRUE(job.silent(1) && job.silent(2) && job.silent(3));
  EXPECT_TRUE(job.look(3).spare);
  job.join(3);
  job.join(1, 0);  // its workers have failed
  EXPECT_EQ(job.reason(2), "n1 (pid 1) restarts");
  job.join(2, 0);
  EXPECT_EQ(job.rank(3), 2);
}

TEST(Membership, WhoStartsAnewTakesTheOthersWithIt) {
  MembershipDriver job(2, 2);
  job.form(2);
  job.join(2, 0);
  const auto* broken = job.only<RoundBroken>(1);
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->reason, "n2 (pid 1) restarts");
  EXPECT_EQ(broken->cause, Cause::restart);
  EXPECT_TRUE(job.silent(2));
  job.join(1, 0);
  EXPECT_EQ(job.rank(1), 0);
  EXPECT_EQ(job.rank(2), 1);
}

TEST(Membership, OneAloneStartsAnewAtOnce) {
  MembershipDriver job(1, 1);
  job.form(1);
  job.join(1, 0);
  const auto* formed = job.only<RoundFormed>(1);
  ASSERT_NE(formed, nullptr);
  EXPECT_EQ(formed->round, 1);
}

TEST(Membership, AnAnswerThatWasNotWaitedForComesLater) {
  MembershipDriver job(2, 2);
  job.join(1);
  job.stop_waiting(1);
  job.join(2);
  EXPECT_TRUE(job.silent(1));
  EXPECT_EQ(job.rank(2), 1);
  EXPECT_EQ(job.look(1).arrived, 2);
  job.join(1);
  EXPECT_EQ(job.rank(1), 0);
  job.stay(1, 0);
  EXPECT_TRUE(job.silent(1));
}

TEST(Membership, ARoundThatBrokeUpBeforeItWasHeardOfIsNotFormed) {
  MembershipDriver job(2, 2);
  job.join(1);
  job.stop_waiting(1);
  job.join(2);
  job.take(2);
  job.drop(2);
  job.join(1);
  EXPECT_TRUE(job.silent(1));
  job.join(2);
  EXPECT_EQ(job.rank(1), 0);
}

TEST(Membership, WhoWasNotWaitingWhenTheRoundBrokeHearsOfItNext) {
  MembershipDriver job(3, 3);
  job.form(3);
  job.stop_waiting(1);
  job.drop(2);
  EXPECT_TRUE(job.silent(1));
  job.stay(1, 0);
  EXPECT_EQ(job.reason(1), "n2 (pid 1) left without a report");
}

TEST(Membership, WhoStaysInARoundThatIsGoneIsTold) {
  MembershipDriver job(1, 2);
  job.form(2);
  job.stay(3, 0);
  EXPECT_EQ(job.reason(3), "the other nodes believe that this one is dead");
}

TEST(Membership, WhoLeavesSaysWhy) {
  MembershipDriver job(1, 2);
  job.form(2);
  job.leave(2, "the disk is full");
  EXPECT_NE(job.only<RendezvousEnded>(2), nullptr);
  const auto* broken = job.only<RoundBroken>(1);
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->reason, "n2 (pid 1) leaves: the disk is full");
  EXPECT_EQ(broken->cause, Cause::change);
  job.join(1);
  EXPECT_TRUE(job.silent(1)) << "the other one still stops its workers";
  job.drop(2);
  EXPECT_EQ(job.rank(1), 0);
}

TEST(Membership, WhoLeavesBeforeARoundIsNotMissed) {
  MembershipDriver job(2, 2);
  job.join(1);
  job.leave(1, "");
  EXPECT_EQ(job.look(2).arrived, 0);
  EXPECT_EQ(job.membership.state(), ElasticState());
}

TEST(Membership, AClosedRendezvousRefusesAllWhoJoin) {
  MembershipDriver job(2, 2);
  job.form(2);
  job.join(3);
  job.close(1);
  EXPECT_NE(job.only<RendezvousEnded>(1), nullptr);
  const auto* refused = job.only<RoundRefused>(3);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->error.code, ErrorCode::closed);
  EXPECT_TRUE(refused->spare);
  EXPECT_TRUE(job.silent(2)) << "who is in goes on to its end";
  job.join(4);
  ASSERT_NE(job.only<RoundRefused>(4), nullptr);
  job.join(2, 0);
  ASSERT_NE(job.only<RoundRefused>(2), nullptr);
  EXPECT_TRUE(job.read().closed);
}

TEST(Membership, ALossIsToldThoughTheRendezvousIsClosed) {
  MembershipDriver job(2, 2);
  job.form(2);
  job.close(1);
  job.take(1);
  job.drop(1);
  const auto* broken = job.only<RoundBroken>(2);
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->cause, Cause::loss);
}

TEST(Membership, AClosedLastCallDoesNotRing) {
  MembershipDriver job(1, 2);
  job.join(1);
  job.close(2);
  ASSERT_NE(job.only<RoundRefused>(1), nullptr);
  EXPECT_EQ(job.membership.deadline(), never);
}

TEST(Membership, ALookCounts) {
  MembershipDriver job(3, 4);
  EXPECT_EQ(job.look(9), (RoundWaits{0, false, {}}));
  job.join(1);
  job.join(2);
  EXPECT_EQ(job.look(9).arrived, 2);
  EXPECT_TRUE(job.silent(1));
  job.join(3);
  job.join(4);
  EXPECT_EQ(job.look(9).arrived, 4);
  EXPECT_FALSE(job.membership.attends(9));
}

TEST(Membership, ANodeThatComesAnewTakesItsOwnPlace) {
  MembershipDriver job(2, 2);
  job.form(2);
  job.attend(7, job.said(Attendance::Wish::join, "n1"));
  EXPECT_EQ(job.reason(2), "n1 (pid 1) left without a report");
  EXPECT_FALSE(job.membership.attends(1));
  job.drop(1);
  job.join(2, 0);
  EXPECT_EQ(job.rank(7), 0);
}

void reset_second_of_three(MembershipDriver& job) {
  job.lease = std::chrono::seconds(6);
  job.form(3);
  for (ConnectionId node = 1; node <= 3; ++node) job.stay(node, 0);
  job.drop(2);
}

// Its workers have ended since, and those of the others run on without it.
TEST(Membership, WithAMajorityAMemberWhoseConnectionWasResetDoesNotComeBackIntoTheRoundThatRuns) {
  MembershipDriver job(2, 3);
  reset_second_of_three(job);
  EXPECT_TRUE(job.take(1).empty()) << "its workers may run";
  job.attend(7, job.said(Attendance::Wish::join, "n2"));
  EXPECT_EQ(job.reason(1), "n2 (pid 1) left without a report");
  EXPECT_TRUE(job.take(7).empty());
  for (const ConnectionId node : {1U, 3U}) job.join(node, 0);
  EXPECT_EQ(job.rank(7), 1);
}

TEST(Membership, WithAMajorityAMemberWhoseConnectionWasResetIsInTheNextRoundThoughItIsTheLastToCome) {
  MembershipDriver job(2, 3);
  reset_second_of_three(job);
  for (const ConnectionId node : {1U, 3U}) job.join(node, 0);
  job.attend(7, job.said(Attendance::Wish::join, "n2"));
  EXPECT_EQ(job.rank(7), 1);
  EXPECT_EQ(job.membership.state().participants.size(), 3U);
}

TEST(Membership, AConnectionThatIsAnotherNodeNowHasLostTheFirst) {
  MembershipDriver job(2, 2);
  job.form(2);
  job.attend(1, job.said(Attendance::Wish::join, "n3"));
  EXPECT_EQ(job.reason(2), "n1 (pid 1) left without a report");
  job.join(2, 0);
  EXPECT_EQ(job.rank(2), 0);
  EXPECT_EQ(job.rank(1), 1);
  job.drop(1);
  EXPECT_EQ(job.membership.state().participants.size(), 1U);
}

TEST(Membership, EveryNodeHasItsRanksAtOnce) {
  MembershipDriver job(3, 3);
  const std::vector<Member> members = {{NodeRank(), "a", 2}, {NodeRank(), "b", 1}, {NodeRank(), "a", 4}};
  for (ConnectionId node = 1; node <= 3; ++node) {
    Attendance said = job.said(Attendance::Wish::join, job.name(node));
    said.member = members[node - 1];
    job.attend(node, said);
  }
  const std::vector<Assignment> expected = {{.group_world_size = 3, .world_size = 7, .role_world_size = 6},
                                            {.group_rank = NodeRank(1),
                                             .group_world_size = 3,
                                             .base_global_rank = GlobalRank(2),
                                             .world_size = 7,
                                             .role_world_size = 1},
                                            {.group_rank = NodeRank(2),
                                             .group_world_size = 3,
                                             .base_global_rank = GlobalRank(3),
                                             .world_size = 7,
                                             .base_role_rank = 2,
                                             .role_world_size = 6}};
  for (ConnectionId node = 1; node <= 3; ++node) {
    const auto* formed = job.only<RoundFormed>(node);
    ASSERT_NE(formed, nullptr);
    EXPECT_EQ(formed->assignment, expected[node - 1]);
  }
}

// A thousand nodes: as many answers as there is news for.
TEST(Membership, NobodyIsToldMoreThanOnce) {
  constexpr ConnectionId many = 1000;
  MembershipDriver job(many - 1, many);
  for (ConnectionId node = 1; node <= many; ++node)
    job.membership.attend(node, job.said(Attendance::Wish::join, job.name(node)), job.instant());
  EXPECT_EQ(job.membership.take_answers().size(), many);
  for (ConnectionId node = 1; node <= many; ++node)
    job.membership.attend(node, job.said(Attendance::Wish::stay, job.name(node), 0), job.instant());
  EXPECT_TRUE(job.membership.take_answers().empty());
  job.membership.drop(500, false, job.instant());
  EXPECT_EQ(job.membership.take_answers().size(), many - 1);
  for (ConnectionId node = 1; node <= many; ++node)
    if (node != 500) job.membership.attend(node, job.said(Attendance::Wish::join, job.name(node), 0), job.instant());
  EXPECT_EQ(job.membership.take_answers().size(), many - 1) << "the next round, without a last call";
}

}  // namespace launch::membership_test

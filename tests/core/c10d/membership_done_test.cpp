// Members whose workers have ended well, and which are lost while they wait for the others.
#include "launch/core/c10d/membership.hpp"

#include "membership_driver.hpp"

namespace launch::membership_done_test {

using namespace std::chrono_literals;
using Wish = Attendance::Wish;

void be_done(MembershipDriver& job, ConnectionId node) {
  Attendance said = job.said(Wish::stay, job.name(node), 0);
  said.done = true;
  job.attend(node, said);
}

void lose_second_of_three_when_done(MembershipDriver& job) {
  job.form(3);
  be_done(job, 2);
  job.drop(2);
}

TEST(MembershipDone, TheLossOfAMemberThatIsDoneIsNone) {
  for (const bool silent : {false, true}) {
    MembershipDriver job(2, 3);
    job.form(3);
    be_done(job, 2);
    job.drop(2, silent);
    EXPECT_TRUE(job.silent(1) && job.silent(3));
    EXPECT_TRUE(job.membership.state().complete);
    EXPECT_EQ(job.membership.deadline(), never);
    job.drop(3);
    EXPECT_EQ(job.reason(1), "n3 (pid 1) left without a report") << "that one was not done";
  }
}

TEST(MembershipDone, ItIsNotWaitedForWhenTheOthersFormAgain) {
  MembershipDriver job(2, 3);
  lose_second_of_three_when_done(job);
  job.join(1, 0);
  EXPECT_EQ(job.reason(3), "n1 (pid 1) restarts");
  job.join(3, 0);
  EXPECT_EQ(job.rank(1), 0);
  EXPECT_EQ(job.rank(3), 1);
  EXPECT_EQ(job.membership.state().participants.size(), 2U);
}

TEST(MembershipDone, AllMayGoOneAfterTheOther) {
  MembershipDriver job(2, 3);
  job.form(3);
  for (const ConnectionId node : {3U, 1U, 2U}) {
    be_done(job, node);
    job.drop(node);
  }
  for (const ConnectionId node : {1U, 2U, 3U}) EXPECT_TRUE(job.silent(node));
}

TEST(MembershipDone, ItsPlaceIsNobodyElses) {
  MembershipDriver job(2, 3);
  lose_second_of_three_when_done(job);
  job.join(9);
  EXPECT_TRUE(job.silent(1)) << "the round is as full as it was";
  EXPECT_TRUE(job.look(9).spare);
}

TEST(MembershipDone, WhoComesBackCounts) {
  MembershipDriver job(2, 3);
  lose_second_of_three_when_done(job);
  job.attend(7, job.said(Wish::stay, "n2", 0));
  job.drop(1);
  EXPECT_EQ(job.reason(7), "n1 (pid 1) left without a report");
  job.attend(7, job.said(Wish::join, "n2", 0));
  job.join(3, 0);
  EXPECT_EQ(job.rank(7), 0);
}

// Its connection was lost, and with it the round: it has no workers any more, but those of the others run on.
TEST(MembershipDone, WhoComesBackForARoundStandsByUntilTheOthersHaveEnded) {
  MembershipDriver job(2, 3);
  lose_second_of_three_when_done(job);
  for (const ConnectionId again : {7U, 8U}) {
    job.attend(again, job.said(Wish::join, "n2"));
    EXPECT_TRUE(job.silent(again) && job.silent(1));
    job.attend(again, job.said(Wish::look, "n2"));
    const auto* waits = job.only<RoundWaits>(again);
    EXPECT_TRUE(waits != nullptr && waits->spare);
    if (again == 7) job.drop(again);
    EXPECT_TRUE(job.silent(1)) << "its loss is none";
  }
  job.close(1);
  const auto* refused = job.only<RoundRefused>(8);
  EXPECT_TRUE(refused != nullptr && refused->spare);
}

TEST(MembershipDone, WhoStandsByLeavesUnheard) {
  MembershipDriver job(2, 3);
  lose_second_of_three_when_done(job);
  job.attend(2, job.said(Wish::join, "n2"));
  job.leave(2, "signal 15");
  EXPECT_NE(job.only<RendezvousEnded>(2), nullptr);
  job.drop(2);
  EXPECT_TRUE(job.silent(1) && job.silent(3));
}

TEST(MembershipDone, WhoComesBackForARoundIsInTheNextOne) {
  MembershipDriver job(2, 3);
  lose_second_of_three_when_done(job);
  job.attend(7, job.said(Wish::join, "n2"));
  job.join(1, 0);
  job.join(3, 0);
  EXPECT_EQ(job.rank(7), 1);
}

TEST(MembershipDone, TorchrunsAgentsSeeItAlive) {
  MembershipDriver job(2, 3);
  lose_second_of_three_when_done(job);
  job.pass(1h);
  const ElasticState state = job.read();
  EXPECT_TRUE(state.participants.contains(ours("n2")));
  EXPECT_EQ(state.last_heartbeats.at(ours("n2")), state.last_heartbeats.at(ours("n1")));
}

TEST(MembershipDone, InARoundThatHasBrokenUpItIsLostAsOthers) {
  MembershipDriver job(2, 3);
  job.form(3);
  be_done(job, 2);
  job.drop(3);
  EXPECT_NE(job.only<RoundBroken>(2), nullptr);
  job.drop(2);
  EXPECT_NE(job.only<RoundBroken>(1), nullptr);
  EXPECT_EQ(job.membership.state().participants.size(), 1U);
}

}  // namespace launch::membership_done_test

// The first round of a store that takes the place of one whose host has ended.
#include "membership_driver.hpp"

namespace launch {

using namespace std::chrono_literals;

// n1 hosts the new store; n0 hosted the last one, in whose round 4 it had rank 0.
struct Heirs : MembershipDriver {
  using MembershipDriver::MembershipDriver;

  Attendance coming(ConnectionId number, Wish wish) const {
    Attendance attendance = said(wish, name(number), 4);
    attendance.door = {{name(number), 1000}, name(number)};
    attendance.hosts = number == 1;
    Comeback back;
    back.last = {0, 4, 4, NodeRank(static_cast<int>(number)), NodeRank(0), ours("n0"), "n0", 4, 0, {}};
    for (int rank = 1; rank < 4; ++rank)
      back.last.line.push_back({NodeRank(rank), ours("n" + std::to_string(rank)), {{"n", 1000}, "n"}});
    back.term = 1;
    back.wait = 33s;
    attendance.comeback = back;
    return attendance;
  }
  void come(ConnectionId number, Wish wish = Wish::join) { attend(number, coming(number, wish)); }
};

TEST(MembershipSuccession, TheRoundFollowsTheLastOneAndKeepsTheOrder) {
  Heirs those(2, 4);
  for (const ConnectionId number : {3U, 2U, 1U}) those.come(number);
  const RoundFormed* formed = those.only<RoundFormed>(3);
  ASSERT_NE(formed, nullptr);
  EXPECT_EQ(formed->round, 5);
  EXPECT_EQ(formed->rank, NodeRank(2));
  EXPECT_EQ(formed->succession.term, 1);
  EXPECT_EQ(formed->succession.host, NodeRank(0));
  ASSERT_EQ(formed->succession.line.size(), 2U);
  EXPECT_EQ(formed->succession.line[0].node, ours("n2"));
  EXPECT_EQ(formed->succession.store, "n1");
  EXPECT_EQ(formed->succession.old, 3);
  EXPECT_EQ(formed->succession.missing, 0);
  EXPECT_EQ(those.rank(1), 0);
}

TEST(MembershipSuccession, ASpareMakesNoRoundBeforeTheMembersHaveCome) {
  Heirs those(1, 4);
  Attendance spare = those.coming(7, MembershipDriver::Wish::join);
  spare.round = -1;
  spare.comeback->last.rank = NodeRank::none();
  those.attend(7, spare);
  those.come(1);
  those.come(2);
  those.come(3, MembershipDriver::Wish::stay);
  EXPECT_NE(those.only<RoundBroken>(3), nullptr);
  those.pass(60s);
  EXPECT_TRUE(those.silent(1));
  those.come(3);
  EXPECT_EQ(those.rank(1), 0);
  EXPECT_EQ(those.rank(7), 3);
}

TEST(MembershipSuccession, MembersThatAreMissingAreWaitedForAsLongAsTheyMayHaveWorkers) {
  Heirs those(1, 4);
  those.come(1);
  those.come(2);
  those.pass(32s);
  EXPECT_TRUE(those.silent(1));
  const RoundWaits waits = those.look(2);
  EXPECT_EQ(waits.arrived, 2);
  EXPECT_EQ(waits.awaited, 3);
  those.pass(2s);
  EXPECT_EQ(those.rank(1), 0);
}

TEST(MembershipSuccession, ThoseWithoutAMajorityAreRefusedOnceNobodyCanComeAnyMore) {
  Heirs those(1, 4);
  those.come(1);
  those.pass(32s);
  EXPECT_TRUE(those.silent(1));
  those.pass(2s);
  const RoundRefused* refused = those.only<RoundRefused>(1);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->error.code, ErrorCode::timeout);
  EXPECT_EQ(refused->error.message, too_few(1, 3));
}

TEST(MembershipSuccession, WhoKnowsAnOlderRoundLearnsTheLastOneBeforeTheNextOneForms) {
  Heirs those(1, 5);
  those.come(1);
  those.come(2);
  Attendance older = those.coming(3, MembershipDriver::Wish::join);
  older.comeback->last.round = 3;
  older.comeback->last.rank = NodeRank(2);
  those.attend(3, older);
  const RoundWaits* told = those.only<RoundWaits>(3);
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->succession.round, 4);
  EXPECT_EQ(told->succession.rank, NodeRank(3));
  EXPECT_TRUE(those.silent(1));
  older.comeback->last = told->succession;
  those.attend(3, older);
  EXPECT_EQ(those.rank(3), 2);
}

// A spare came back to a host that was started again, and said that it had lost one.
TEST(MembershipSuccession, AHostThatComesFromNoOtherStoreFormsRoundsAsEver) {
  for (const bool spare_first : {true, false}) {
    Heirs those(1, 2);
    Attendance host = those.said(MembershipDriver::Wish::join, "n1");
    host.hosts = true;
    if (spare_first) those.come(2);
    those.attend(1, host);
    if (!spare_first) those.come(2);
    EXPECT_EQ(those.rank(1), 0) << spare_first;
  }
}

TEST(MembershipSuccession, SparesHearOfTheLineWhenTheyComeAndWhenARoundForms) {
  MembershipDriver those(1, 2);
  const auto come = [&](ConnectionId number) {
    Attendance attendance = those.said(MembershipDriver::Wish::join, those.name(number));
    attendance.hosts = number == 1;
    attendance.door = {{those.name(number), static_cast<std::uint16_t>(number == 1 ? 0 : 7)}, those.name(number)};
    those.attend(number, attendance);
  };
  for (const ConnectionId number : {1U, 2U}) come(number);
  for (const ConnectionId number : {1U, 2U}) EXPECT_NE(those.only<RoundFormed>(number), nullptr);
  come(3);
  const RoundWaits* told = those.only<RoundWaits>(3);
  ASSERT_NE(told, nullptr);
  EXPECT_TRUE(told->spare);
  EXPECT_EQ(told->succession.round, 0);
  EXPECT_EQ(told->succession.line[0].node, ours("n2"));
  come(3);
  EXPECT_TRUE(those.silent(3)) << "it knows that";
}

TEST(MembershipSuccession, DoorsAtALoopbackAreInNoLineWithOthers) {
  for (const bool mixed : {true, false}) {
    MembershipDriver those(1, 3);
    for (const ConnectionId number : {1U, 2U, 3U}) {
      Attendance attendance = those.said(MembershipDriver::Wish::join, those.name(number));
      attendance.hosts = number == 1;
      attendance.door = {{mixed && number == 3 ? "10.0.0.3" : "127.0.0.1", 7}, "n"};
      those.attend(number, attendance);
    }
    const RoundFormed* formed = those.only<RoundFormed>(2);
    ASSERT_NE(formed, nullptr);
    ASSERT_EQ(formed->succession.line.size(), mixed ? 1U : 2U);
    EXPECT_EQ(formed->succession.line.back().node, ours("n3"));
  }
}

TEST(MembershipSuccession, KnowsWhetherSomebodyLeaves) {
  MembershipDriver those(1, 2);
  those.form(2);
  EXPECT_FALSE(those.membership.has_leavers());
  those.leave(2, "it was told to");
  EXPECT_TRUE(those.membership.has_leavers());
  those.drop(2);
  EXPECT_FALSE(those.membership.has_leavers());
}

TEST(MembershipSuccession, TooFewAreRefusedAfterAWhile) {
  Heirs those(4, 4);
  for (const ConnectionId number : {1U, 2U, 3U}) those.come(number);
  those.pass(4s);
  EXPECT_TRUE(those.silent(1));
  those.pass(2s);
  const RoundRefused* refused = those.only<RoundRefused>(1);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->error.message, "3 of at least 4 nodes are left");
}

TEST(MembershipSuccession, ALineNeedsADoorOfEveryMember) {
  for (const bool all : {true, false}) {
    MembershipDriver those(1, 3);
    for (const ConnectionId number : {1U, 2U, 3U}) {
      Attendance attendance = those.said(MembershipDriver::Wish::join, those.name(number));
      attendance.hosts = number == 1;
      if (number < 3 || all) attendance.door = {{"n", static_cast<std::uint16_t>(number == 1 ? 0 : 7)}, "n"};
      those.attend(number, attendance);
    }
    const RoundFormed* formed = those.only<RoundFormed>(2);
    ASSERT_NE(formed, nullptr);
    EXPECT_EQ(formed->succession.line.size(), all ? 2U : 0U);
    EXPECT_EQ(formed->succession.host_node, all ? ours("n1") : NodeDesc());
  }
}

}  // namespace launch

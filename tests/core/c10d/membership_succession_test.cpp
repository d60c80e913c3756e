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

TEST(MembershipSuccession, KnowsWhetherWorkersOfOthersMayStillRun) {
  MembershipDriver those(1, 3);
  const auto attend = [&](ConnectionId number, MembershipDriver::Wish wish, std::int64_t round) {
    Attendance attendance = those.said(wish, those.name(number), round);
    attendance.hosts = number == 1;
    those.attend(number, attendance);
  };
  using Wish = MembershipDriver::Wish;
  for (const ConnectionId number : {1U, 2U, 3U}) attend(number, Wish::join, -1);
  EXPECT_FALSE(those.membership.workers_may_run());
  for (const ConnectionId number : {1U, 2U, 3U}) attend(number, Wish::stay, 0);
  attend(1, Wish::leave, 0);
  EXPECT_TRUE(those.membership.workers_may_run()) << "nobody has said yet that it leaves, too";
  attend(2, Wish::leave, 0);
  attend(3, Wish::join, 0);
  EXPECT_TRUE(those.membership.workers_may_run());
  those.drop(2);
  EXPECT_FALSE(those.membership.workers_may_run());
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

// Somebody looks when the round forms: its workers could start elsewhere, and the host end, before it hears of the
// round.
TEST(MembershipSuccession, ARoundIsToldWhenAllItsMembersWaitForIt) {
  for (const bool comes_back : {true, false}) {
    MembershipDriver those(3, 3);
    const auto come = [&](ConnectionId number) {
      Attendance attendance = those.said(MembershipDriver::Wish::join, those.name(number));
      attendance.hosts = number == 1;
      attendance.door = {{those.name(number), static_cast<std::uint16_t>(number == 1 ? 0 : 7)}, those.name(number)};
      those.attend(number, attendance);
    };
    for (const ConnectionId number : {1U, 2U}) come(number);
    those.stop_waiting(2);
    come(3);
    EXPECT_TRUE(those.silent(1));
    EXPECT_TRUE(those.silent(3));
    if (comes_back) {
      come(2);
      for (const ConnectionId number : {1U, 2U, 3U}) EXPECT_EQ(those.rank(number), static_cast<int>(number) - 1);
      continue;
    }
    those.drop(2);
    EXPECT_TRUE(those.silent(1)) << "the round has broken up";
    come(4);
    EXPECT_EQ(those.rank(1), 0);
    EXPECT_EQ(those.rank(3), 1);
    EXPECT_EQ(those.rank(4), 2);
  }
}

// Before the host ends: a member that reads it late must not take the end of the host for a loss.
TEST(MembershipSuccession, MembersHearThatTheJobHasEnded) {
  for (const bool may_move : {true, false}) {
    MembershipDriver those(1, 2);
    const auto attend = [&](ConnectionId number, MembershipDriver::Wish wish, std::int64_t round) {
      Attendance attendance = those.said(wish, those.name(number), round);
      attendance.hosts = number == 1;
      if (may_move) attendance.door = {{"n", static_cast<std::uint16_t>(number == 1 ? 0 : 7)}, those.name(number)};
      those.attend(number, attendance);
    };
    for (const ConnectionId number : {1U, 2U}) attend(number, MembershipDriver::Wish::join, -1);
    for (const ConnectionId number : {1U, 2U}) EXPECT_NE(those.only<RoundFormed>(number), nullptr);
    attend(2, MembershipDriver::Wish::stay, 0);
    EXPECT_TRUE(those.silent(2));
    those.close(1);
    const RoundRefused* refused = those.only<RoundRefused>(2);
    ASSERT_EQ(refused != nullptr, may_move);
    const bool is_closed = refused != nullptr && refused->error.code == ErrorCode::closed;
    EXPECT_EQ(is_closed, may_move);
  }
}

// A job of n1, which hosts the store, n2, n3 and n4.
struct Members : MembershipDriver {
  Members() : MembershipDriver(1, 4) {
    for (const ConnectionId number : {1U, 2U, 3U, 4U}) come(number);
    for (const ConnectionId number : {1U, 2U, 3U, 4U}) EXPECT_NE(only<RoundFormed>(number), nullptr);
    for (const ConnectionId number : {1U, 2U, 3U, 4U}) come(number, Wish::stay, 0);
  }
  void come(ConnectionId number, Wish wish = Wish::join, std::int64_t round = -1) {
    Attendance attendance = said(wish, name(number), round);
    attendance.hosts = number == 1;
    attendance.door = {{name(number), static_cast<std::uint16_t>(number == 1 ? 0 : 7)}, name(number)};
    attend(number, attendance);
  }
  void end(ConnectionId number) {
    membership.end(number);
    drop(number);
  }
};

// They may host the store next, and must not wait for it then.
TEST(MembershipSuccession, ThoseWhoWaitHearWhichMembersHaveEnded) {
  for (const bool in_order : {true, false}) {
    Members those;
    those.leave(1, "it was told to stop");
    for (const ConnectionId number : {2U, 3U, 4U}) EXPECT_NE(those.only<RoundBroken>(number), nullptr);
    those.come(3, MembershipDriver::Wish::join, 0);
    in_order ? those.end(2) : those.drop(2);
    const RoundWaits* told = those.only<RoundWaits>(3);
    ASSERT_EQ(told != nullptr, in_order) << "a reset proves nothing";
    if (!in_order) continue;
    EXPECT_EQ(told->succession.ended, std::vector<NodeRank>{NodeRank(1)});
    EXPECT_EQ(told->succession.rank, NodeRank(2));
    those.come(3, MembershipDriver::Wish::join, 0);
    EXPECT_TRUE(those.silent(3)) << "it knows that";
    those.come(4, MembershipDriver::Wish::join, 0);
    EXPECT_NE(those.only<RoundWaits>(4), nullptr) << "it asks later";
  }
}

// n2 comes to n1, which hosts the store since n0 has ended, and ends there.
TEST(MembershipSuccession, AMemberThatEndsAtTheNextHostIsNotWaitedFor) {
  for (const bool in_order : {true, false}) {
    Heirs those(1, 4);
    those.come(1);
    those.come(2);
    if (in_order) those.membership.end(2);
    those.drop(2);
    EXPECT_TRUE(those.silent(1));
    those.come(3);
    EXPECT_EQ(those.silent(1), !in_order);
  }
}

// All others must go to the next host.
TEST(MembershipSuccession, AtAHostThatLeavesBetweenTwoRoundsNoRoundForms) {
  for (const bool full : {true, false}) {  // at once, or after the last call
    for (const bool leaves : {true, false}) {
      MembershipDriver those(2, full ? 2 : 3);
      const auto host = [&](MembershipDriver::Wish wish) {
        Attendance said = those.said(wish, "n1", 0);
        said.hosts = true;
        return said;
      };
      those.form(2);
      those.attend(1, host(MembershipDriver::Wish::join));
      those.drop(2);
      if (leaves) those.attend(1, host(MembershipDriver::Wish::leave));
      those.join(3);
      those.join(4);
      those.pass(60s);
      EXPECT_EQ(those.silent(3), leaves);
    }
  }
}

// It has come to a door behind which nobody hosts, since it could not reach the one before.
TEST(MembershipSuccession, AVisitorClosesNothing) {
  for (const bool hosted : {false, true}) {
    Heirs those(1, 4);
    those.come(3);
    if (hosted) those.come(1);
    those.close(3);
    EXPECT_NE(those.only<RendezvousEnded>(3), nullptr);
    EXPECT_EQ(those.membership.state().closed, hosted);
  }
}

TEST(MembershipSuccession, TheWitnessOfANodeThatIsGivenUpIsReset) {
  Members those;
  const auto watch = [&](ConnectionId from, ConnectionId of) {
    those.attend(from, those.said(MembershipDriver::Wish::witness, those.name(of)));
  };
  watch(12, 2);
  watch(13, 3);
  watch(19, 9);
  EXPECT_TRUE(those.silent(12));
  EXPECT_NE(those.only<RendezvousEnded>(19), nullptr) << "nobody knows this node";
  EXPECT_FALSE(those.membership.attends(12));
  those.drop(2, true);
  EXPECT_EQ(those.membership.take_void(), std::vector<ConnectionId>{12});
  those.drop(13);
  those.drop(3);
  EXPECT_TRUE(those.membership.take_void().empty());
}

}  // namespace launch

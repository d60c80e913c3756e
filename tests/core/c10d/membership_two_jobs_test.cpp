// Two stores of one job: the younger one gives way.
#include "membership_driver.hpp"

namespace launch {

using namespace std::chrono_literals;

struct Founded : MembershipDriver {
  using MembershipDriver::MembershipDriver;

  // The host of a store that has moved `term` times tells where that is.
  void tell(int term) {
    Attendance attendance = said(Wish::tell, "n9");
    attendance.moved = elder(term);
    attend(9, attendance);
    EXPECT_NE(only<RendezvousEnded>(9), nullptr);
  }
  static MovedJob elder(int term) { return {ours("n9"), {{"n9", 40000}, "of n9"}, term}; }
  bool is_told(ConnectionId connection, int term) {
    const auto* moved = only<RoundMoved>(connection);
    return moved != nullptr && moved->job == elder(term);
  }
};

TEST(MembershipOfTwo, TheYoungerJobFormsNoRoundAndTellsAllWhereTheElderOneLives) {
  Founded those(1, 4);
  those.join(1);
  those.join(2);
  those.tell(1);
  EXPECT_TRUE(those.is_told(1, 1));
  EXPECT_TRUE(those.is_told(2, 1));
  those.join(3);
  EXPECT_TRUE(those.is_told(3, 1));
  those.join(2);
  EXPECT_TRUE(those.is_told(2, 1));
  those.pass(60s);
  EXPECT_TRUE(those.silent(1));
  those.leave(2, "");
  EXPECT_NE(those.only<RendezvousEnded>(2), nullptr);
  EXPECT_FALSE(those.membership.state().complete) << "the last call is over";
}

TEST(MembershipOfTwo, MembersOfARoundAreToldToo) {
  Founded those(2, 2);
  those.form(2);
  those.tell(1);
  EXPECT_TRUE(those.is_told(1, 1));
  EXPECT_TRUE(those.is_told(2, 1));
  those.drop(1);
  EXPECT_TRUE(those.silent(2));
}

TEST(MembershipOfTwo, TheElderJobTakesNoNotice) {
  Heirs those(1, 4);
  for (const ConnectionId number : {3U, 2U, 1U}) those.come(number);
  Attendance teller = those.said(MembershipDriver::Wish::tell, "n9");
  teller.moved = Founded::elder(1);
  those.attend(9, teller);
  EXPECT_EQ(those.rank(1), 0);
  those.stay(1, 5);
  EXPECT_TRUE(those.silent(1));
}

}  // namespace launch

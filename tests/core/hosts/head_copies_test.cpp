#include "launch/core/hosts/head.hpp"

#include "head_driver.hpp"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Hosts that have no launch, or another version, get that of the head.
namespace launch::head_copies_test {

using namespace heads;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

HeadPlan copying(int nodes) {
  HeadPlan plan = plan_of(nodes);
  plan.may_copy = true;
  return plan;
}

LostConnection without_launch() { return lost_to("bash: line 1: exec: launch: not found\n", 127); }

// Whether the last connection that was begun sends the program first.
bool sends_it(const Driver& d) {
  const auto begun = d.all<ConnectHost>();
  return !begun.empty() && begun.back().copies;
}

TEST(HeadCopies, AHostThatHasNoneIsConnectedToAgain) {
  Driver d(copying(1));
  EXPECT_FALSE(sends_it(d));
  d.lose(0, without_launch());
  EXPECT_TRUE(sends_it(d));
  EXPECT_THAT(d.greet(0).told<NodeJob>(), ElementsAre(0));
}

TEST(HeadCopies, SoIsOneOfAnotherVersionOnceItHasLeft) {
  Driver d(copying(1));
  d.greet(0, "1.3");
  EXPECT_THAT(d.left(), ElementsAre(0));
  EXPECT_THAT(d.connected(), IsEmpty());
  EXPECT_GT(d.head.deadline(), d.now) << "nothing is to be done meanwhile";
  d.lose(0);
  EXPECT_TRUE(sends_it(d));
  EXPECT_THAT(d.greet(0).told<NodeJob>(), ElementsAre(0));
}

TEST(HeadCopies, OneThatDoesNotLeaveIsGivenUp) {
  Driver d(copying(1));
  d.greet(0, "1.3");
  d.wait(10s);
  EXPECT_THAT(d.said(), testing::Contains(HasSubstr("does not end within 10 s")));
  EXPECT_THAT(d.code(), testing::Optional(124));
}

TEST(HeadCopies, AHostThatTakesTheProgramSlowlyHasTime) {
  Driver d(copying(1));
  d.lose(0, without_launch());
  for (int i = 0; i < 5; ++i) {
    d.now += 50s;
    d.head.on_taken(0, d.now);
    EXPECT_THAT(d.wait(0s).left(), IsEmpty());
  }
  EXPECT_THAT(d.wait(59s).left(), IsEmpty());
  EXPECT_THAT(d.wait(1s).left(), testing::ElementsAre(0));
  EXPECT_THAT(d.code(), testing::Optional(124));
}

TEST(HeadCopies, OnlyTheProgramIsAReasonForMoreTime) {
  Driver d(copying(1));
  d.now += 29s;
  d.head.on_taken(0, d.now);
  EXPECT_THAT(d.wait(1s).code(), testing::Optional(124));
}

TEST(HeadCopies, OnceIsEnough) {
  for (const bool version : {true, false}) {
    Driver d(copying(1));
    d.lose(0, without_launch());
    version ? d.greet(0, "1.3") : d.lose(0, without_launch());
    EXPECT_THAT(d.connected(), IsEmpty());
    EXPECT_THAT(d.code(), testing::Optional(1));
  }
}

TEST(HeadCopies, NothingElseIsAReasonToSendIt) {
  Driver d(copying(1));
  EXPECT_THAT(d.lose(0, lost_to("ssh: connect to host n1 port 22: Connection refused\n")).connected(), IsEmpty());
  EXPECT_THAT(d.code(), testing::Optional(1));
}

TEST(HeadCopies, WithoutLeaveItIsAProblemOfTheHost) {
  Driver d(plan_of(2));
  d.lose(0, without_launch());
  d.greet(1, "1.3");
  EXPECT_THAT(d.said(), testing::Contains(HasSubstr("n1: launch is not on the PATH")));
  EXPECT_THAT(d.said(), testing::Contains(HasSubstr("n2: has launch 1.3, this is 1.4")));
}

}  // namespace launch::head_copies_test

#include "launch/core/hosts/head.hpp"

#include "head_driver.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::head_test {

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

// ---- all problems, and nothing is started

TEST(Head, AllProblemsAreListedOnceAllHaveAnswered) {
  Driver d(plan_of(6));
  d.greet_all();
  const LostConnection lost = lost_to("Connection to n5 closed by remote host.\n");
  EXPECT_THAT(d.say(0, NodeCannot{"/work is not there", 2}).left(), ElementsAre(0));
  d.say(2, NodeCannot{"/work is not there", 2});
  d.babble(3);
  d.lose(4, lost);
  d.say(5, NodeCannot{"two\nlines", 1});
  EXPECT_THAT(heads::all_of<SayLine>(d.ever), IsEmpty());
  d.say(1, ready_with({"10.0.0.2"}, "b"));
  EXPECT_THAT(d.said(),
              testing::UnorderedElementsAre("n[1,3]: /work is not there",
                                            "n4: what comes from there is not launch: a frame of an unknown kind 77",
                                            "n5: " + explain(lost).reason, testing::StartsWith("n6: two"),
                                            "5 of 6 hosts cannot take part, so nothing was started"));
  EXPECT_EQ(d.said().front(), "n[1,3]: /work is not there");
  EXPECT_THAT(d.said().back(), HasSubstr(nothing_started));
  for (const std::string& line : d.said()) EXPECT_THAT(line, testing::Not(HasSubstr("\n")));
  EXPECT_THAT(d.code(), Optional(1)) << "a mix";
  EXPECT_FALSE(d.ever_went());
}

TEST(Head, TheOnlyHostIsNotCounted) {
  Driver d(plan_of(1));
  d.greet_all().say(0, NodeCannot{"no folder", 2});
  EXPECT_THAT(d.said(), ElementsAre("n1: no folder", "so nothing was started"));
}

TEST(Head, WhatIsOddAboutTheHostsIsSaidBeforeTheyStart) {
  Driver d(plan_of(2));
  d.greet_all().say(0, ready_with({"10.0.0.1"}, "a"));
  d.say(1, ready_with({"10.0.0.1"}, "a"));
  ASSERT_EQ(d.all<WarnLine>().size(), 1U);
  EXPECT_EQ(d.all<WarnLine>()[0].text, "n[1-2] are the same machine (h): their workers share its devices");
  EXPECT_THAT(heads::all_of<WarnLine>(Driver(plan_of(3)).run_all().ever), IsEmpty());
}

TEST(Head, TheExitCodeIsTheOneOfAllProblemsElse1) {
  for (const auto& [codes, code] : std::vector<std::pair<std::vector<int>, int>>{
           {{2, 2}, 2}, {{1, 1}, 1}, {{124, 124}, 124}, {{2, 1}, 1}, {{2, 124}, 1}, {{3, 3}, 3}}) {
    Driver d(plan_of(2));
    d.greet_all();
    d.say(0, NodeCannot{"a", codes[0]});
    d.say(1, NodeCannot{"b", codes[1]});
    EXPECT_THAT(d.code(), Optional(code));
  }
}

TEST(Head, WhoIsLateIsAProblemWithCode124) {
  Driver d(plan_of(3));
  d.greet(0);
  d.wait(30s);
  EXPECT_THAT(d.left(), ElementsAre(1, 2));
  EXPECT_THAT(d.code(), testing::Eq(std::nullopt)) << "n1 may still say what is wrong with it";
  d.wait(29s);
  EXPECT_THAT(d.last, ElementsAre(testing::VariantWith<TellHost>(testing::_)));
  d.wait(1s);
  EXPECT_THAT(d.said(), ElementsAre("n[2-3]: launch did not answer within 30 s of the login",
                                    "n1: did not say within 60 s whether it can start",
                                    "no host can take part, so nothing was started"));
  EXPECT_THAT(d.code(), Optional(124));
}

TEST(Head, AnAnswerThatNobodyHasAskedForIsNone) {
  Driver d(plan_of(2));
  d.greet_all();
  d.say(0, ReachAnswer{{""}});
  d.say(0, NodeEnd{7, "report", ""});
  d.say(0, NodeOutput{false, "text\n"});
  d.say(0, ready_with({"10.0.0.1"}, "a"));
  d.say(0, ready_with({"10.9.9.9"}, "a"));
  d.say(0, NodeCannot{"late", 2});
  EXPECT_THAT(d.last, IsEmpty());
  d.say(1, ready_with({"10.0.0.2"}, "b"));
  EXPECT_THAT(d.told<ReachQuestion>(1)->addresses, ElementsAre("10.0.0.1"));
}

// ---- nonsense and signals before anything runs

TEST(Head, NonsenseInEveryPhase) {
  Driver connecting(plan_of(2));
  EXPECT_THAT(connecting.babble(1).left(), ElementsAre(1));
  Driver asked(plan_of(2));
  EXPECT_THAT(asked.greet_all().babble(0).left(), ElementsAre(0));
  EXPECT_THAT(asked.say(0, ready_with({}, "")).last, IsEmpty()) << "it is not listened to any more";
  Driver ready(plan_of(2));
  ready.greet_all().say(0, ready_with({"10.0.0.1"}, "a"));
  EXPECT_THAT(ready.say(0, NodeGo{}).left(), ElementsAre(0));
  EXPECT_THAT(ready.say(1, NodeSignal{9}).code(), Optional(1));
  EXPECT_THAT(ready.said(),
              ElementsAre("n[1-2]: what comes from there is not launch: a message that only the head sends",
                          HasSubstr(nothing_started)));
  Driver reach(plan_of(2));
  EXPECT_THAT(reach.ready_all().babble(0).code(), Optional(1));
  EXPECT_THAT(reach.said(), ElementsAre(HasSubstr("n1: what comes from there is not launch"), HasSubstr("1 of 2")));
  EXPECT_FALSE(ready.ever_went() || reach.ever_went());
}

TEST(Head, NonsenseOfAConnectionThatIsGoneIsNotHeard) {
  Driver d(plan_of(1));
  d.lose(0, busy_login());
  EXPECT_THAT(d.babble(0).last, IsEmpty());
}

TEST(Head, ASignalBeforeANodeRunsEndsItAtOnce) {
  Driver connecting(plan_of(2));
  EXPECT_THAT(connecting.signal(SIGINT).code(), Optional(128 + SIGINT));
  EXPECT_THAT(connecting.said(), ElementsAre("received SIGINT; nothing was started yet"));
  Driver asked(plan_of(3));
  asked.greet(0).greet(2).say(0, ready_with({"10.0.0.1"}, "a"));
  EXPECT_THAT(asked.signal(SIGTERM).code(), Optional(128 + SIGTERM));
  EXPECT_THAT(asked.said(), ElementsAre("received SIGTERM; nothing was started yet, n[1,3] had been asked"));
  Driver reach(plan_of(3));
  EXPECT_THAT(reach.ready_all().signal(SIGHUP).code(), Optional(128 + SIGHUP));
  EXPECT_THAT(reach.said(), ElementsAre("received SIGHUP; nothing was started yet, n[1-3] had been asked"));
}

TEST(Head, NothingIsDoneAfterItsEnd) {
  Driver d(plan_of(3));
  d.greet(0);
  ASSERT_TRUE(d.signal(SIGINT).code());
  EXPECT_THAT(d.greet(1).last, IsEmpty());
  EXPECT_THAT(d.say(0, ready_with({"10.0.0.1"}, "a")).last, IsEmpty());
  EXPECT_THAT(d.say(0, NodeJob{}).last, IsEmpty());
  EXPECT_THAT(d.babble(2).last, IsEmpty());
  EXPECT_THAT(d.lose(2, busy_login()).last, IsEmpty());
  EXPECT_THAT(d.signal(SIGTERM).last, IsEmpty());
  EXPECT_EQ(d.head.deadline(), never);
  EXPECT_THAT(d.wait(1h).last, IsEmpty());
  EXPECT_EQ(d.head.progress(), "");
}

// ---- beats, and what a user sees while waiting

TEST(Head, HostsThatHaveGreetedHearABeatEach5Seconds) {
  Driver d(windowed(4, 3));
  d.greet(0).greet(1).say(1, ready_with({"10.0.0.2"}, "b"));
  d.greet(2).say(2, NodeCannot{"no", 2});
  EXPECT_THAT(d.wait(4s).last, IsEmpty());
  EXPECT_THAT(d.wait(1s).told<HostBeat>(), ElementsAre(0, 1)) << "n3 was left, n4 has not greeted";
  EXPECT_EQ(d.head.deadline(), d.now + 5s);
  EXPECT_THAT(d.wait(5s).told<HostBeat>(), ElementsAre(0, 1));
  Driver reach(plan_of(2));
  EXPECT_THAT(reach.ready_all().wait(5s).told<HostBeat>(), ElementsAre(0, 1));
}

TEST(Head, ProgressSaysWhomItWaitsFor) {
  Driver d(windowed(4, 2));
  EXPECT_EQ(d.head.progress(), "waiting for 4 of 4 hosts: connecting to n[1-4]");
  d.greet(1);
  EXPECT_EQ(d.head.progress(), "waiting for 4 of 4 hosts: connecting to n[1,3-4]; checking n2");
  d.say(1, ready_with({"10.0.0.2"}, "b"));
  EXPECT_EQ(d.head.progress(), "waiting for 3 of 4 hosts: connecting to n[1,3-4]");
  d.lose(2, busy_login());
  EXPECT_EQ(d.head.progress(), "waiting for 3 of 4 hosts: connecting to n[1,3-4]");
  d.babble(3);
  EXPECT_EQ(d.head.progress(), "waiting for 2 of 4 hosts: connecting to n[1,3]") << "n4 is not waited for";
  Driver reach(plan_of(3));
  reach.ready_all();
  EXPECT_EQ(reach.head.progress(),
            "waiting for 2 of 3 hosts: looking for an address of node 0 that is reached from n[2-3]");
  reach.say(1, ReachAnswer{{""}}).say(2, ReachAnswer{{""}});
  EXPECT_EQ(reach.head.progress(), "");
}

}  // namespace launch::head_test

// What Head does when a node of a static job ends or is lost before the others, and when files of a node are coming.
#include "head_driver.hpp"
#include "launch/core/hosts/head.hpp"

#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::head_losses_test {

using namespace std::chrono_literals;
using heads::Driver;
using heads::end_of;
using heads::plan_of;
using heads::running;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

constexpr const char* told_to_stop = R"({"root_cause":{"kind":"signal"}})";

// Its own words were shown. The others would wait for it for a quarter of an hour.
TEST(HeadLosses, ANodeThatEndsBeforeItHasJoinedAStaticJobStopsTheOthers) {
  Driver d(plan_of(3));
  d.run_all().say(1, NodeEnd{2, "", ""});
  EXPECT_THAT(d.all<TellHost>(), IsEmpty());
  d.wait(5s);
  EXPECT_THAT(d.told<NodeSignal>(), ElementsAre(0, 2));
  EXPECT_THAT(d.said(), ElementsAre("n2: launch there has ended with exit code 2 before its node had joined; stopping "
                                    "the other nodes"));
  d.say(0, NodeEnd{143, "stopped by SIGTERM", told_to_stop}).say(2, NodeEnd{143, "", ""});
  EXPECT_THAT(d.code(), Optional(2));
}

TEST(HeadLosses, ANodeThatAsksForAnotherStartHadJoined) {
  HeadPlan plan = plan_of(2);
  plan.requeue_exit = 2;
  Driver d(plan);
  d.run_all().say(1, NodeEnd{2, "", ""}).wait(10s);
  EXPECT_THAT(d.told<NodeSignal>(), IsEmpty());
}

TEST(HeadLosses, OthersThatEndByThemselvesOrAreOfAnElasticJobAreNotToldTo) {
  Driver known(plan_of(3));
  known.run_all().say(1, NodeEnd{2, "", ""}).say(0, NodeEnd{1, "what was wrong", ""}).say(2, NodeEnd{1, "", ""});
  EXPECT_THAT(known.code(), Optional(1));
  Driver failed(plan_of(3));
  failed.run_all().say(1, NodeEnd{1, "", ""}).wait(10s);
  EXPECT_THAT(failed.told<NodeSignal>(), IsEmpty()) << "it had joined";
  HeadPlan plan = plan_of(3);
  plan.c10d = true;
  Driver elastic(plan);
  elastic.run_all().say(1, NodeEnd{2, "", ""}).wait(60s);
  EXPECT_THAT(elastic.told<NodeSignal>(), IsEmpty());
}

// It had not joined, so the others know nothing of it and would wait for a quarter of an hour.
TEST(HeadLosses, OthersThatGoOnAfterANodeOfAStaticJobWasLostAreToldToStop) {
  const auto losses =
      std::vector<std::function<void(Driver&)>>{[](Driver& d) { d.lose(1); }, [](Driver& d) { d.babble(1); },
                                                [](Driver& d) {
                                                  d.say(1, NodeEnd{137, "", "", 9});
                                                }};
  for (const auto& lose : losses) {
    Driver d = running(3);
    lose(d);
    d.head.on_life(0, d.now += 59s);
    d.head.on_life(2, d.now);
    EXPECT_THAT(d.wait(0s).told<NodeSignal>(), IsEmpty());
    EXPECT_THAT(d.wait(1s).told<NodeSignal>(), ElementsAre(0, 2));
    EXPECT_THAT(d.said(), ElementsAre("n2 is lost, and the other nodes have not ended by themselves within 60 s; "
                                      "stopping them"));
    EXPECT_THAT(d.wait(1s).told<NodeSignal>(), IsEmpty()) << "once";
    d.say(0, NodeEnd{143, "stopped by SIGTERM", told_to_stop}).say(2, NodeEnd{143, "", ""});
    EXPECT_THAT(d.code(), Optional(1));
    EXPECT_EQ(end_of(d).report, "") << "that they were stopped is not why it has failed";
    EXPECT_THAT(end_of(d).json, HasSubstr("n2"));
  }
}

TEST(HeadLosses, WhatAnotherNodeSaysOfTheFailureIsNotForgottenThoughTheOthersWereStopped) {
  Driver d = running(3);
  d.lose(1).say(2, NodeEnd{7, "rank 4 has failed", R"({"root_cause":{"kind":"exit"}})"});
  d.head.on_life(0, d.now += 60s);
  EXPECT_THAT(d.wait(0s).told<NodeSignal>(), ElementsAre(0));
  d.say(0, NodeEnd{143, "stopped by SIGTERM", told_to_stop});
  EXPECT_EQ(end_of(d).exit_code, 7);
  EXPECT_THAT(end_of(d).report, HasSubstr("rank 4 has failed"));
}

TEST(HeadLosses, NobodyIsStoppedWhileTheConsoleKeepsTheHeadFromHearingOfTheirEnds) {
  Driver d = running(3);
  d.lose(1);
  d.head.on_console(true, d.now);
  EXPECT_THAT(d.wait(10min).told<NodeSignal>(), IsEmpty());
  EXPECT_GT(d.head.deadline(), d.now) << "it does not ask again and again";
  d.head.on_console(false, d.now);
  EXPECT_THAT(d.wait(1s).told<NodeSignal>(), ElementsAre(0, 2));
}

// Its files are still coming: what is lost with the connection is a part of them, which the gathering tells.
TEST(HeadLosses, ANodeThatHasEndedBeforeItIsLostIsNone) {
  HeadPlan plan = plan_of(2);
  plan.gathers_logs = plan.keeps_output = true;
  for (const int code : {0, 3}) {
    Driver d(plan);
    d.run_all().say(1, NodeEnd{code, code == 0 ? "" : "rank 1 has failed", "", 0, true});
    EXPECT_THAT(d.last, IsEmpty());
    EXPECT_EQ(d.say(1, NodeFile{"0/stdout.log", true, "x", ""}).all<StoreFile>().size(), 1U);
    EXPECT_THAT(d.lose(1).said(), IsEmpty());
    EXPECT_THAT(d.say(0, NodeEnd{code, "", ""}).code(), Optional(code));
  }
  Driver killed(plan);
  killed.run_all().say(1, NodeEnd{137, "", "", 9, true});
  EXPECT_THAT(killed.lose(1).said(), ElementsAre(HasSubstr("n2: the connection has ended")));
  EXPECT_THAT(killed.say(0, NodeEnd{}).code(), Optional(1));
  Driver silent(plan);
  silent.run_all().say(0, NodeEnd{0, "", "", 0, true}).say(1, NodeEnd{0, "", "", 0, true});
  EXPECT_THAT(silent.stay(15s).code(), Optional(0)) << "both are given up, and the job has ended well";
}

TEST(HeadLosses, WhoseFilesAreComingIsNotToldToStop) {
  HeadPlan plan = plan_of(3);
  plan.gathers_logs = plan.keeps_output = true;
  Driver d(plan);
  d.run_all().lose(1);
  for (const int node : {0, 2}) d.say(node, NodeEnd{1, "node 1 is lost", "", 0, true});
  for (int i = 0; i < 9; ++i) {
    d.now += 10s;
    for (const int node : {0, 2}) d.head.on_life(node, d.now);
    EXPECT_THAT(d.wait(0s).told<NodeSignal>(), IsEmpty());
  }
  for (const int node : {0, 2}) d.say(node, NodeEnd{1, "node 1 is lost", ""});
  EXPECT_THAT(end_of(d).report, HasSubstr("node 1 is lost"));
}

TEST(HeadLosses, OfTwoReasonsToStopOthersTheSoonerCounts) {
  Driver d = running(3);
  d.lose(1).say(2, NodeEnd{2, "", ""});
  EXPECT_THAT(d.wait(5s).told<NodeSignal>(), ElementsAre(0));
  EXPECT_THAT(d.said(), ElementsAre(HasSubstr("n3: launch there has ended with exit code 2")));
  EXPECT_THAT(d.say(0, NodeEnd{143, "", ""}).code(), Optional(2));
}

}  // namespace launch::head_losses_test

// What Head does while nodes run: their output, signals, losses and ends.
#include "head_driver.hpp"
#include "launch/core/hosts/head.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::head_nodes_test {

using namespace std::chrono_literals;
using heads::Driver;
using heads::end_of;
using heads::lost_to;
using heads::plan_of;
using heads::running;
using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;
using testing::StartsWith;

// ---- output

TEST(HeadNodes, OutputBecomesWholeLinesForEachHostAndStream) {
  Driver d = running(2);
  EXPECT_THAT(d.say(0, NodeOutput{false, "one\ntw"}).shown(), "one\n");
  EXPECT_THAT(d.say(1, NodeOutput{false, "other"}).last, IsEmpty());
  EXPECT_THAT(d.say(0, NodeOutput{true, "er"}).last, IsEmpty());
  d.say(0, NodeOutput{false, "o\nthree\nf"});
  EXPECT_EQ(d.shown(), "two\nthree\n");
  EXPECT_EQ(d.shown(true), "");
  d.say(0, NodeOutput{true, "ror\n"});
  EXPECT_EQ(d.shown(true), "error\n");
  EXPECT_EQ(d.shown(), "");
  EXPECT_EQ(d.say(1, NodeOutput{false, "\n\n"}).shown(), "other\n\n");
}

// What is held of n1's lines when it goes, and what is shown of it then.
void expect_rest(Driver& d) {
  EXPECT_EQ(d.shown(), "half a line\n");
  EXPECT_EQ(d.shown(true), "half an error\n");
}

Driver with_halves() {
  Driver d = running(2);
  d.say(0, NodeOutput{false, "half a line"}).say(0, NodeOutput{true, "half an error"});
  return d;
}

TEST(HeadNodes, WhatIsLeftOfALineIsShownHoweverTheNodeGoes) {
  Driver ended = with_halves();
  expect_rest(ended.say(0, NodeEnd{}));
  EXPECT_EQ(ended.say(1, NodeEnd{}).shown(), "") << "once";
  Driver lost = with_halves();
  expect_rest(lost.lose(0));
  Driver nonsense = with_halves();
  expect_rest(nonsense.babble(0));
  Driver silent = with_halves();
  silent.stay(14s);
  silent.say(1, HostBeat{});
  expect_rest(silent.stay(1s));
  Driver impatient = with_halves();
  expect_rest(impatient.signal(SIGINT).signal(SIGINT).signal(SIGINT));
  EXPECT_THAT(impatient.code(), Optional(128 + SIGINT));
}

Driver with_silence(Duration silence) {
  HeadPlan plan = plan_of(2);
  plan.silence = silence;
  Driver d(plan);
  d.run_all();
  return d;
}

TEST(HeadNodes, AHostMayBeSilentForAsLongAsThePlanSays) {
  Driver d = with_silence(3s);
  EXPECT_EQ(d.head.deadline(), d.now + 1s) << "the next beat";
  d.stay(2s);
  d.say(1, HostBeat{});
  EXPECT_THAT(d.stay(1s - 1ns).said(), IsEmpty());
  EXPECT_THAT(d.wait(1ns).said(), ElementsAre("n1: no sign of life for 3 s: its node is given up"));
  const auto left = d.all<LeaveHost>();
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_TRUE(left[0].silent) << "nobody waits for the end of its connection";
  EXPECT_THAT(d.lose(0).left(), IsEmpty());
  EXPECT_FALSE(d.say(1, NodeEnd{}).all<LeaveHost>().at(0).silent);
}

TEST(HeadNodes, AHeadThatHasSleptReadsFirstWhatHasComeMeanwhile) {
  Driver d = with_silence(3s);
  EXPECT_THAT(d.wait(60s).said(), IsEmpty());
  EXPECT_EQ(d.head.deadline(), d.now + 250ms);
  d.say(0, HostBeat{});
  EXPECT_THAT(d.wait(250ms).said(), ElementsAre(StartsWith("n2: no sign of life")));
}

TEST(HeadNodes, WhatComesAfterTheEndIsNotShown) {
  Driver d = running(2);
  d.say(0, NodeEnd{});
  EXPECT_THAT(d.say(0, NodeOutput{false, "late\n"}).last, IsEmpty());
  EXPECT_THAT(d.say(0, NodeEnd{7, "again", ""}).last, IsEmpty());
  EXPECT_THAT(d.lose(0).last, IsEmpty());
  EXPECT_THAT(d.babble(0).last, IsEmpty());
  EXPECT_THAT(d.say(1, NodeEnd{}).code(), Optional(0));
}

// ---- the end

TEST(HeadNodes, EachNodeThatHasEndedIsLeft) {
  Driver d = running(2);
  d.say(1, NodeEnd{});
  EXPECT_THAT(d.left(), ElementsAre(1));
  EXPECT_THAT(d.code(), testing::Eq(std::nullopt));
  d.say(0, NodeEnd{});
  EXPECT_THAT(d.left(), ElementsAre(0));
  EXPECT_THAT(d.code(), Optional(0));
}

struct Ends {
  std::vector<NodeEnd> nodes;
  int code;
  const char* report;
};

TEST(HeadNodes, TheReportIsThatOfTheLowestNodeThatHasOneAndSoIsTheExitCode) {
  for (const Ends& one :
       std::vector<Ends>{{{{0, "", ""}, {0, "", ""}, {0, "", ""}}, 0, ""},
                         {{{0, "", ""}, {3, "", ""}, {4, "", ""}}, 3, ""},
                         {{{1, "", ""}, {7, "rank 2 failed", "{}"}, {9, "other", "[]"}}, 7, "rank 2 failed"},
                         {{{0, "", ""}, {0, "", ""}, {5, "late", "{}"}}, 5, "late"},
                         {{{0, "notes", "{}"}, {6, "", ""}, {0, "", ""}}, 6, "notes"}}) {
    for (const bool backwards : {false, true}) {
      Driver d = running(3);
      for (const int i : {0, 1, 2}) {
        const int node = backwards ? 2 - i : i;
        d.say(node, one.nodes[static_cast<std::size_t>(node)]);
      }
      EXPECT_EQ(end_of(d).exit_code, one.code);
      EXPECT_EQ(end_of(d).report, one.report);
      EXPECT_EQ(end_of(d).json.empty(), end_of(d).exit_code == 0) << "the head writes one if no node has";
    }
  }
}

TEST(HeadNodes, AHostThatKeepsOutputIsToldThatAllWasShown) {
  HeadPlan plan = plan_of(2);
  plan.keeps_output = true;
  Driver d(plan);
  d.run_all().say(0, NodeOutput{false, "half a line"}).say(0, NodeEnd{});
  EXPECT_THAT(d.left(), IsEmpty()) << "its connection ends after that";
  ASSERT_EQ(d.last.size(), 2U);
  EXPECT_EQ(d.shown(), "half a line\n");
  EXPECT_EQ(std::get<ConfirmHost>(d.last[1]).node, 0);
  EXPECT_EQ(d.say(1, NodeEnd{3, "report", "{}"}).all<ConfirmHost>().size(), 1U) << "however its node has ended";
  EXPECT_THAT(d.code(), Optional(3));
}

TEST(HeadNodes, FilesAreStoredIfTheyWereAskedForWhileTheNodeRuns) {
  for (const bool asked : {true, false}) {
    HeadPlan plan = plan_of(2);
    plan.gathers_logs = asked;
    plan.nodes[1].logs = "/logs/n2";
    Driver d(plan);
    d.greet_all();
    EXPECT_EQ(node_job(plan, 1).gathers_logs, asked);
    EXPECT_EQ(node_job(plan, 1).logs, "/logs/n2");
    EXPECT_EQ(node_job(plan, 0).logs, "");
    EXPECT_THAT(d.say(0, NodeFile{"early", true, "", ""}).all<StoreFile>(), IsEmpty());
    d.run_all();
    const auto stored = d.say(1, NodeFile{"0/stdout.log", false, "x", ""}).all<StoreFile>();
    ASSERT_EQ(stored.size(), asked ? 1U : 0U);
    for (const StoreFile& one : stored) {
      EXPECT_EQ(one.node, 1);
      EXPECT_EQ(one.file, (NodeFile{"0/stdout.log", false, "x", ""}));
    }
    EXPECT_EQ(d.say(1, NodeEnd{}).all<EndFiles>().size(), asked ? 1U : 0U);
    EXPECT_THAT(d.say(1, NodeFile{"late", true, "", ""}).last, IsEmpty());
  }
}

// ---- a host is lost

TEST(HeadNodes, ALostConnectionEndsNothingElse) {
  const LostConnection lost = lost_to("Timeout, server n2 not responding.\n");
  Driver d = running(3);
  EXPECT_THAT(d.lose(1, lost).said(),
              ElementsAre("n2: the connection has ended, so its node ends (" + explain(lost).reason + ")"));
  EXPECT_THAT(d.left(), IsEmpty()) << "there is no connection to close";
  EXPECT_THAT(d.signal(SIGTERM).told<NodeSignal>(), ElementsAre(0, 2));
  EXPECT_THAT(d.wait(5s).told<HostBeat>(), ElementsAre(0, 2));
  d.say(0, NodeEnd{7, "rank 4 is gone", ""});
  d.say(2, NodeEnd{7, "", ""});
  EXPECT_EQ(end_of(d).exit_code, 7);
  EXPECT_EQ(end_of(d).report, "rank 4 is gone");
}

TEST(HeadNodes, PartsOfAMessageAreSignsOfLife) {
  Driver d(plan_of(2));
  d.run_all();
  for (int i = 0; i < 4; ++i) {
    d.head.on_life(0, d.now);
    d.head.on_life(1, d.now);
    d.wait(10s);
    EXPECT_THAT(d.code(), Eq(std::nullopt));
  }
}

TEST(HeadNodes, AJobWithALostNodeHasNotEndedWell) {
  Driver fixed = running(2);
  EXPECT_THAT(fixed.lose(1).say(0, NodeEnd{}).code(), Optional(1));
  Driver all = running(2);
  EXPECT_THAT(all.lose(0).lose(1).code(), Optional(1));
}

TEST(HeadNodes, UnlessItIsElasticAndHasGoneOnWithoutIt) {
  Driver elastic = running(2, true);
  EXPECT_THAT(elastic.lose(1).say(0, NodeEnd{}).code(), Optional(0));
  Driver failed = running(2, true);
  EXPECT_THAT(failed.lose(1).say(0, NodeEnd{3, "", ""}).code(), Optional(3));
  Driver all = running(2, true);
  EXPECT_THAT(all.lose(0).lose(1).code(), Optional(1));
}

TEST(HeadNodes, ALaunchThatIsKilledIsALostNodeOfAnElasticJobAndNotItsEnd) {
  for (const NodeEnd& end :
       {NodeEnd{137, "", "", 9}, NodeEnd{137, "launch was killed", "{}", 9}, NodeEnd{137, "", ""}}) {
    Driver d = running(3, true);
    EXPECT_THAT(d.say(2, end).said(), ElementsAre(HasSubstr("n3: launch there ")));
    EXPECT_THAT(d.left(), ElementsAre(2));
    d.say(0, NodeEnd{});
    EXPECT_THAT(d.say(1, NodeEnd{}).code(), Optional(0));
    EXPECT_EQ(end_of(d).report, "");
    EXPECT_EQ(end_of(d).json, "");
  }
  Driver stopped = running(2, true);
  stopped.signal(SIGINT).say(0, NodeEnd{137, "", ""});
  EXPECT_THAT(stopped.said(), IsEmpty()) << "as it was told to";
  EXPECT_THAT(stopped.say(1, NodeEnd{130, "", ""}).code(), Optional(137));
}

TEST(HeadNodes, NonsenseOfARunningNodeIsALoss) {
  Driver d = running(2);
  EXPECT_THAT(d.babble(0).said(),
              ElementsAre("n1: what comes from there is not launch: a frame of an unknown kind 77"));
  EXPECT_THAT(d.left(), ElementsAre(0)) << "so its remote ends it";
  EXPECT_THAT(d.say(0, NodeEnd{}).last, IsEmpty());
  EXPECT_THAT(d.say(1, NodeReady{}).last, IsEmpty());
  EXPECT_THAT(d.say(1, NodeInput{"x"}).left(), ElementsAre(1));
  EXPECT_THAT(d.code(), Optional(1));
}

TEST(HeadNodes, SilenceOfARunningNodeIsALoss) {
  Driver d = running(2);
  d.wait(10s).say(0, HostBeat{});
  d.wait(4s);
  EXPECT_EQ(d.head.deadline(), d.now + 1s);
  EXPECT_THAT(d.said(), IsEmpty());
  d.wait(1s);
  EXPECT_THAT(d.said(), ElementsAre("n2: no sign of life for 15 s: its node is given up"));
  EXPECT_THAT(d.left(), ElementsAre(1));
  EXPECT_THAT(d.say(1, NodeOutput{false, "I live\n"}).last, IsEmpty());
  EXPECT_EQ(d.head.deadline(), d.now + 5s);
  EXPECT_THAT(d.say(0, NodeOutput{false, "so do I"}).wait(5s).told<HostBeat>(), ElementsAre(0));
  EXPECT_EQ(d.head.deadline(), d.now + 5s) << "any message counts, by the time at which it came";
  d.say(0, NodeEnd{});
  EXPECT_THAT(d.code(), Optional(1));
}

TEST(HeadNodes, TheTimeUntilItStartsCountsForNobody) {
  Driver d(plan_of(2));
  d.ready_all();
  d.now += 14s;
  d.say(1, ReachAnswer{{""}});
  EXPECT_THAT(d.wait(14s).said(), IsEmpty());
}

// ---- signals

TEST(HeadNodes, SignalsGoToWhatRunsAndTheThirdEndsTheHead) {
  Driver d = running(3);
  d.say(1, NodeEnd{});
  EXPECT_THAT(d.signal(SIGINT).told<NodeSignal>(), ElementsAre(0, 2));
  EXPECT_EQ(d.told<NodeSignal>(2)->number, SIGINT);
  EXPECT_THAT(d.said(), ElementsAre("received SIGINT; telling n[1,3]"));
  EXPECT_THAT(d.signal(SIGTERM).told<NodeSignal>(), ElementsAre(0, 2));
  EXPECT_EQ(d.told<NodeSignal>(0)->number, SIGTERM);
  EXPECT_THAT(d.said(), IsEmpty()) << "once";
  EXPECT_THAT(d.signal(SIGINT).told<NodeSignal>(), IsEmpty());
  EXPECT_THAT(d.said(), ElementsAre("received SIGINT again; not waiting for n[1,3], whose nodes end by themselves"));
  EXPECT_THAT(d.code(), Optional(128 + SIGINT));
}

TEST(HeadNodes, AfterASignalTheCodeIsTheNodes) {
  Driver d = running(2);
  d.signal(SIGTERM).say(0, NodeEnd{143, "stopped by SIGTERM", ""}).say(1, NodeEnd{143, "", ""});
  EXPECT_EQ(end_of(d).exit_code, 143);
  EXPECT_THAT(end_of(d).report, StartsWith("stopped"));
}

// ---- the console, and signals that end nothing

TEST(HeadNodes, SilenceSaysNothingWhileTheConsoleTakesNothing) {
  Driver d(plan_of(1));
  d.run_all();
  d.head.on_console(true, d.now);
  for (int i = 0; i < 20; ++i) d.wait(std::chrono::seconds(5));
  EXPECT_FALSE(d.code());
  d.head.on_console(false, d.now);
  d.wait(std::chrono::seconds(14));
  EXPECT_FALSE(d.code()) << "it has its time from then on";
  d.wait(std::chrono::seconds(1));
  EXPECT_TRUE(d.code());
}

TEST(HeadNodes, ASignalThatIsPassedOnEndsNothingHoweverOftenItComes) {
  Driver d(plan_of(2));
  EXPECT_TRUE(d.head.on_passed_signal(SIGUSR1).empty()) << "no node runs yet";
  d.run_all();
  for (int i = 0; i < 5; ++i) {
    const auto told = heads::all_of<TellHost>(d.head.on_passed_signal(SIGUSR1));
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(std::get<NodeSignal>(told.front().message).number, SIGUSR1);
  }
}

}  // namespace launch::head_nodes_test

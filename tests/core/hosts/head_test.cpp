#include "launch/core/hosts/head.hpp"

#include "head_driver.hpp"

#include <csignal>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace launch::head_test {

using namespace std::chrono_literals;
using heads::busy_login;
using heads::Driver;
using heads::lost_to;
using heads::plan_of;
using heads::ready_with;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

constexpr auto nothing_started = "so nothing was started";

HeadPlan windowed(int nodes, int fanout) {
  HeadPlan plan = plan_of(nodes);
  plan.fanout = fanout;
  return plan;
}

// ---- the window of connections

TEST(Head, ASlotIsGivenOnAtOnceHoweverItsHostIsThrough) {
  Driver d(windowed(6, 2));
  EXPECT_THAT(d.connected(), ElementsAre(0, 1));
  EXPECT_THAT(d.greet(1).connected(), ElementsAre(2)) << "n1 is slow, and nobody waits for it";
  EXPECT_THAT(d.lose(2).connected(), ElementsAre(3));
  EXPECT_THAT(d.babble(3).connected(), ElementsAre(4));
  EXPECT_THAT(d.greet(4, "1.3").connected(), ElementsAre(5));
  EXPECT_THAT(d.greet(5).connected(), IsEmpty());
}

TEST(Head, AHostThatDoesNotGreetGivesItsSlotUp) {
  Driver d(windowed(2, 1));
  EXPECT_EQ(d.head.deadline(), d.now + 5s) << "beats";
  EXPECT_THAT(d.wait(29s).connected(), IsEmpty());
  d.wait(1s);
  EXPECT_THAT(d.left(), ElementsAre(0));
  EXPECT_THAT(d.connected(), ElementsAre(1));
  EXPECT_THAT(d.lose(0).connected(), IsEmpty()) << "it has been given up already";
}

// ---- a login that is busy

TEST(Head, ABusyLoginIsTriedAgainALittleLaterAndLaterEachTimeUpToALimit) {
  std::set<Duration> delays;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Driver d(plan_of(1), seed);
    for (int tries = 1; tries < 6; ++tries) {
      EXPECT_THAT(d.lose(0, busy_login()).last, IsEmpty());
      Duration waited{};
      while (d.connected().empty()) {
        ASSERT_GT(d.head.deadline(), d.now);
        waited += d.head.deadline() - d.now;
        d.wait(d.head.deadline() - d.now);
      }
      EXPECT_GE(waited, 500ms);
      EXPECT_LT(waited, tries * 1s + 1s);
      delays.insert(waited);
    }
    EXPECT_THAT(d.lose(0, busy_login()).code(), Optional(1));
    EXPECT_THAT(d.said(), ElementsAre(HasSubstr("n1: "), HasSubstr(nothing_started)));
  }
  EXPECT_GT(delays.size(), 90U) << "many hosts do not come back at the same moment";
}

TEST(Head, OnlyABusyLoginIsTriedAgain) {
  Driver d(plan_of(1));
  EXPECT_THAT(d.lose(0, lost_to("ssh: connect to host n1 port 22: Connection refused\n")).code(), Optional(1));
  Driver greeted(plan_of(1));
  greeted.greet(0);
  EXPECT_THAT(greeted.lose(0, busy_login()).code(), Optional(1)) << "its launch was there already";
}

TEST(Head, ARetryThatIsDueWaitsForASlotAndSpinsNot) {
  Driver d(windowed(2, 1));
  EXPECT_THAT(d.lose(0, busy_login()).connected(), ElementsAre(1)) << "the next one has its slot";
  d.wait(10s);
  EXPECT_THAT(d.connected(), IsEmpty());
  EXPECT_GT(d.head.deadline(), d.now);
  EXPECT_THAT(d.greet(1).connected(), ElementsAre(0));
}

// ---- greeting and job

TEST(Head, AnotherVersionTakesNoPart) {
  Driver d(plan_of(2));
  d.greet(0, "1.3");
  EXPECT_THAT(d.left(), ElementsAre(0));
  EXPECT_THAT(d.told<NodeJob>(), IsEmpty());
  d.greet(1);
  d.say(1, ready_with({"10.0.0.2"}, "b"));
  EXPECT_THAT(d.said(), ElementsAre("n1: has launch 1.3, this is 1.4: the same version on all hosts, please",
                                    "1 of 2 hosts cannot take part, so nothing was started"));
  EXPECT_THAT(d.code(), Optional(1));
}

TEST(Head, WhoeverGreetsIsToldItsJob) {
  HeadPlan plan = plan_of(2);
  plan.nodes[1].options = {"--nproc-per-node=4"};
  plan.nodes[1].env = {"CUDA_VISIBLE_DEVICES=0,2"};
  plan.keeps_output = true;
  plan.port = 4000;
  Driver d(plan);
  const auto job = d.greet(1).told<NodeJob>(1);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->node, 1);
  EXPECT_EQ(job->nodes, 2);
  EXPECT_THAT(job->args, testing::IsSupersetOf({"--quiet", "--nproc-per-node=4", "--node-rank=1", "train.py"}));
  EXPECT_THAT(job->env, ElementsAre("A=1", "CUDA_VISIBLE_DEVICES=0,2"));
  EXPECT_EQ(job->folder, "/work");
  EXPECT_EQ(job->umask, 027);
  EXPECT_TRUE(job->keeps_output);
  EXPECT_EQ(job->port, 4000);
  EXPECT_EQ(job->token, "run");
  EXPECT_EQ(job->silence_ms, 15'000);
  const auto first = d.greet(0).told<NodeJob>(0);
  EXPECT_THAT(first->env, ElementsAre("A=1"));
  EXPECT_THAT(first->args, testing::Not(testing::Contains("--nproc-per-node=4")));
}

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
                                    "3 of 3 hosts cannot take part, so nothing was started"));
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
